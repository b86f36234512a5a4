"""Layers that a connection passes before its protocol: PROXY protocol header, mod_echo, mod_dumpio.

Public: stack.protocol_factory, layer.ConnectionLayer, proxy_protocol.ProxyProtocolReader,
dumpio.DumpIOLayer, echo.EchoProtocol.
A layer is the protocol of the transport below it and the transport of the protocol above it.
Must not import: master.
"""
