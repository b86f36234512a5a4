"""Language server for configurations of httpd: `whimbrel lsp`, over standard input and output or a port.

Public: server.create_server; one file for each feature (hover, completion, symbols and so on).
Features take documents of documents.py and return types of lsprotocol; server.py alone knows pygls.
Must not import: testing.  lsprotocol and pygls are the extra `lsp`, so nothing else may import this package.
"""
