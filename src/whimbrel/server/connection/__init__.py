"""Layers that a connection passes before its protocol: PROXY protocol header, mod_dumpio.

Public: proxy_protocol.ProxyHeader, dumpio.DumpIO.
Layers are asyncio protocols that stack.
Must not import: master.
"""
