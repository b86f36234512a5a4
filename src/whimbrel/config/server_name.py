"""Default server names, as httpd determines them (ap_get_local_host, ap_fini_vhost_config)."""

from __future__ import annotations

import re

from whimbrel.config.model import ANY, DEFAULT, Server, VirtualHostSource


def name_server(configuration: VirtualHostSource, server: Server) -> None:
    """Set the name of a virtual host without ServerName, as httpd determines it."""
    if server.name:
        return
    if any(address.host in (ANY, DEFAULT) for address in server.addresses):
        server.name = configuration.main.name
    elif not server.addresses:
        server.name = "bogus_host_without_forward_dns"
    else:
        import socket

        address = server.addresses[0].host
        try:
            server.name = socket.getnameinfo((address, 0), socket.NI_NAMEREQD)[0]
        except OSError as problem:
            configuration.warn(
                f"Failed to resolve server name for {address} (check DNS) -- or specify an explicit "
                f"ServerName",
                code="AH00549",
                level="error",
                cause=f"(EAI {abs(problem.errno or 2)}){problem.strerror}",
            )
            server.name = "bogus_host_without_reverse_dns"


def name_main_server(configuration: VirtualHostSource) -> None:
    """Set the name of a main server without ServerName, with httpd's warning (ap_get_local_host)."""
    if configuration.main.name or configuration.main.named:
        return
    name = local_host_name()
    if "." in name and not re.fullmatch("[0-9.]+", name):
        configuration.main.name = name
        return
    configuration.main.name = name
    text = (
        f"{configuration.program}: Could not reliably determine the server's fully qualified domain "
        f"name, using {name}"
    )
    tail = (
        " for ServerName"
        if configuration.dialect.name_virtual_host
        else ". Set the 'ServerName' directive globally to suppress this message"
    )
    configuration.warn(text + tail, code="AH00558", level="startup")


def local_host_name() -> str:
    """Return the machine's name with its domain, or its address, or 127.0.0.1."""
    import socket

    name = socket.gethostname()
    try:
        address = socket.getaddrinfo(name, None, type=socket.SOCK_STREAM)[0][4]
    except OSError:
        return "127.0.0.1"
    try:
        resolved = socket.getnameinfo(address, socket.NI_NAMEREQD)[0]
    except OSError:
        resolved = ""
    if "." in resolved:
        return resolved
    if "." in name:
        return name
    return str(address[0])
