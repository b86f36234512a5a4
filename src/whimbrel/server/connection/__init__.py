"""Layers that a connection passes before its protocol: PROXY protocol header, mod_dumpio.

Public: proxy_protocol.{protocol_factory, ProxyProtocolReader}, dumpio.DumpIOProtocol.
Layers are asyncio protocols that stack.
Must not import: master.
"""
