"""Files that hold secrets, by their names: passwords, keys, tokens.

What is in such a file is never written anywhere by midtoken, and never shown to the model beside
another file's text. A name is all that is looked at: where it lies, what it is called, and its
copies (`.env.bak`, `.prod.env.swp`). In folders that hold nothing else, everything is secret.

    >>> is_secret("/home/ada/project/.env.local"), is_secret("src/environment.py")
    (True, False)

What is not here: secrets in files with other names, which nobody can know, and links (a caller who
can asks for the place that a link leads to as well).
"""

import re

NOT_SENT = "files of secrets, by their names, are not sent to an engine elsewhere"
"""Why there is no text for one."""

FOLDERS = frozenset(
    {
        ".aws",
        ".azure",
        ".gnupg",
        ".kube",
        ".password-store",
        ".secrets",
        ".ssh",
        "gcloud",
        "private-keys-v1.d",
        "secrets",
    }
)
"""Everything below one of these is secret."""

NAMES = frozenset(
    {
        ".boto",
        ".dockercfg",
        ".dockerconfigjson",
        ".env",
        ".envrc",
        ".git-credentials",
        ".htpasswd",
        ".my.cnf",
        ".mylogin.cnf",
        ".netrc",
        ".npmrc",
        ".pgpass",
        ".pypirc",
        ".s3cfg",
        ".terraformrc",
        ".vault-token",
        ".vault_pass",
        ".yarnrc",
        ".yarnrc.yml",
        "_netrc",
        "kubeconfig",
        "local.settings.json",
        "nuget.config",
        "pgpass.conf",
        "pip.conf",
        "pip.ini",
        "shadow",
        "terraform.rc",
        "vault_pass.txt",
        "wp-config.php",
    }
)

PLACES = frozenset(
    {
        (".cargo", "config.toml"),
        (".docker", "config.json"),
        (".gem", "config"),
        (".gradle", "gradle.properties"),
        (".m2", "settings.xml"),
        ("containers", "auth.json"),
    }
)
"""Names that are secret only in one folder."""

ENDINGS = frozenset(
    {
        "asc",
        "env",
        "gpg",
        "jks",
        "kdb",
        "kdbx",
        "key",
        "keystore",
        "kubeconfig",
        "ovpn",
        "p12",
        "p8",
        "pem",
        "pfx",
        "pgp",
        "pkcs12",
        "ppk",
        "secret",
        "secrets",
        "tfstate",
        "tfvars",
    }
)
"""What comes after the last dot."""

_SHAPES = re.compile(
    r"\.env[.-].*"
    r"|id_(rsa|dsa|ecdsa|ed25519)(_sk)?"
    r"|(.*[._-])?(credentials?|secrets?|passwords?)([.-](json|toml|ya?ml|xml|ini|conf|cfg|txt|env"
    r"|properties|enc|csv|db|plist))*"
    r"|(client[_-]secrets?|service[_-]?account).*\.json"
    r"|\.?[a-z]+_history"
    r"|.*\.tfvars\.json",
    re.DOTALL,
)
_COPY = re.compile(r"(~|\.(bak|backup|copy|old|orig|save|sw[a-p]|tmp)|\.\d+)\Z")
_HIDDEN_COPY = re.compile(r"\.(.+\.sw[a-p])\Z", re.DOTALL)


def is_secret(path: str) -> bool:
    r"""Whether a file is taken to hold secrets.

    Args:
        path: A path, absolute or not, with `/` or `\` between names; capitals do not matter.
    """
    *folders, name = re.split(r"[/\\]", path.casefold())
    if not FOLDERS.isdisjoint(folders):
        return True
    return any(_names_a_secret(each, folders) for each in _originals(name))


def _originals(name: str) -> list[str]:
    """A name, and the names that it may be a copy of; those are looked at in turn."""
    hidden = _HIDDEN_COPY.match(name)
    found = [name, hidden[1]] if hidden else [name]
    for each in found:
        shorter = _COPY.sub("", each)
        if shorter != each:
            found.append(shorter)
    return found


def _names_a_secret(name: str, folders: list[str]) -> bool:
    return (
        name in NAMES
        or (*folders[-1:], name) in PLACES
        or ("." in name and name.rpartition(".")[2] in ENDINGS)
        or _SHAPES.fullmatch(name) is not None
    )
