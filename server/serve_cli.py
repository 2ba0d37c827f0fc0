"""The commands `midtoken serve` and `midtoken connect`: their options, and which ones go together.

Not here: serving itself (`serving`, `shared`, `relay`).
"""

import click

from server.errors import UsageError

FILE = click.Path(dir_okay=False)


@click.command()
@click.option("--stdio", is_flag=True, help="Over standard input and output (the default).")
@click.option(
    "--shared",
    is_flag=True,
    help="Over standard input and output, with the model of a server that all your editors share.",
)
@click.option(
    "--linger",
    type=click.FloatRange(0, 86_400),
    default=300.0,
    show_default=True,
    metavar="SECONDS",
    help="With --shared: so long the server stays when the last editor has gone.",
)
@click.option("--tcp", metavar="HOST:PORT", help="For several editors, on a port.")
@click.option("--settings", type=FILE, help="With --tcp: a file like midtoken.toml, for everybody.")
@click.option("--token-file", type=FILE, help="With --tcp: the token that editors must show.")
@click.option("--tls-cert", type=FILE, help="With --tcp: the server's certificate (PEM).")
@click.option("--tls-key", type=FILE, help="With --tcp: the certificate's private key (PEM).")
@click.option(
    "--insecure", is_flag=True, help="With --tcp: let other machines connect without encryption."
)
@click.option(
    "--connections",
    type=click.IntRange(1, 1024),
    default=32,
    show_default=True,
    help="With --tcp: the most editors at once.",
)
@click.pass_context
def serve(context: click.Context, /, **options: object) -> None:
    """Run the language server; editors start it themselves.

    Any other address than one of this machine (127.0.0.1) needs a token, and TLS or --insecure. The
    token may be in MIDTOKEN_TOKEN instead of a file. Editors reach such a server by `midtoken
    connect`.
    """
    chosen = [way for way in ("stdio", "shared", "tcp") if options[way]]
    if len(chosen) > 1:
        raise UsageError("choose one of --stdio, --shared and --tcp")
    way = chosen[0] if chosen else "stdio"
    for name in options:
        given = context.get_parameter_source(name) is click.core.ParameterSource.COMMANDLINE
        needed = {"stdio": "stdio", "shared": "shared", "linger": "shared"}.get(name, "tcp")
        if given and needed != way:
            raise UsageError(f"--{name.replace('_', '-')} goes with --{needed}")
    if way == "tcp":
        from server.serving import TcpOptions, serve_tcp

        del options["stdio"], options["shared"], options["linger"]
        serve_tcp(TcpOptions(options.pop("tcp"), **options))  # type: ignore[arg-type]
    elif way == "shared":
        from server.shared import serve_shared

        serve_shared(float(str(options["linger"])))
    else:
        from server.serving import serve_stdio

        serve_stdio()


@click.command("serve-shared", hidden=True)
@click.argument("folder", type=click.Path())
@click.argument("name")
@click.option("--linger", type=float, required=True)
def serve_joined(folder: str, name: str, linger: float) -> None:
    """Run the server that `midtoken serve --shared` joins; started by it alone."""
    from server.shared_server import host

    host(folder, name, linger)


@click.command()
@click.argument("address", metavar="HOST:PORT")
@click.option("--token-file", type=FILE, help="The token to show; else it is in MIDTOKEN_TOKEN.")
@click.option("--tls", is_flag=True, help="Encrypt also where the server is this machine.")
@click.option("--tls-ca", type=FILE, help="Trust this certificate or authority (PEM) alone.")
@click.option("--insecure", is_flag=True, help="Do not encrypt.")
def connect(
    address: str, token_file: str | None, tls: bool, tls_ca: str | None, insecure: bool
) -> None:
    """Pass an editor's messages on to a server that runs elsewhere.

    Editors start it as their server, over standard input and output.
    """
    from server.connect import ConnectOptions, run_connect

    if insecure and (tls or tls_ca):
        raise UsageError("choose one of --insecure and --tls or --tls-ca")
    run_connect(ConnectOptions(address, token_file, tls or tls_ca is not None, tls_ca, insecure))
