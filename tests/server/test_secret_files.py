"""Which files are taken to hold secrets."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from server.secret_files import is_secret

SECRET = [
    ".env",
    ".env.local",
    ".env-production",
    "prod.env",
    ".ENV",
    ".envrc",
    "server.pem",
    "SERVER.PEM",
    "tls/private.key",
    "id_rsa",
    "id_ed25519_sk",
    ".npmrc",
    ".pypirc",
    ".netrc",
    "_netrc",
    ".git-credentials",
    "credentials",
    "credentials.json",
    "credentials.yml.enc",
    "db-credentials.yaml",
    "aws_credentials",
    "secrets.yaml",
    "my.secrets.toml",
    "passwords.txt",
    "client_secret_1234.apps.json",
    "service-account.json",
    "serviceAccountKey.json",
    "terraform.tfvars",
    "prod.auto.tfvars.json",
    "terraform.tfstate",
    "terraform.tfstate.backup",
    ".bash_history",
    ".python_history",
    "vault.kdbx",
    "release.keystore",
    "/home/ada/.ssh/config",
    "/home/ada/.aws/config",
    r"C:\Users\Ada\.ssh\known_hosts",
    "deploy/secrets/database",
    "/home/ada/.docker/config.json",
    "/home/ada/.m2/settings.xml",
    "wp-config.php",
    "pip.conf",
    # Copies are as secret as what they are copies of.
    ".env~",
    ".env.bak",
    "server.pem.old",
    "id_rsa.bak",
    "id_rsa.1",
    ".server.pem.swp",
    ".prod.env.swo",
    ".npmrc.orig~",
    ".npmrc.swp",
    ".env.x\ny",
]

OPEN = [
    "main.py",
    "environment.py",
    "env.py",
    "keys.py",
    "keyboard.ts",
    "secrets.py",
    "credentials.go",
    "test_passwords.rs",
    "password_reset.html",
    "id_rsa.pub",
    "monkey",
    "settings.xml",
    "config.json",
    "config.toml",
    "gradle.properties",
    "auth.json",
    "history.md",
    "ssh/config.py",
    "aws/lambda.py",
    "package.json",
    "README.md",
    "key",
    "pem",
    "",
]


@pytest.mark.parametrize("path", SECRET)
def test_secret(path):
    assert is_secret(path)


@pytest.mark.parametrize("path", OPEN)
def test_not_secret(path):
    assert not is_secret(path)


names = st.text(st.characters(exclude_characters="/\\"), max_size=20)


@given(st.lists(names, max_size=4), st.sampled_from(SECRET), st.sampled_from("/\\"))
def test_wherever_it_lies(folders, name, separator):
    """A folder above makes nothing less secret."""
    assert is_secret(separator.join([*folders, name]))


@given(st.text(max_size=200))
def test_any_text_is_a_path(path):
    """Nothing that could be a name is too odd to be asked about."""
    assert is_secret(path) in {True, False}


@given(st.integers(1, 2000), st.sampled_from(["~", ".bak", ".1", "a_", "secret-", ".env.swp"]))
def test_long_names_take_no_time(count, part):
    """Names that look like copies of copies, or nearly like a secret, over and over."""
    is_secret(part * count)
