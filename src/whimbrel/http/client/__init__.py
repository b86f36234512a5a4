"""The client's side of HTTP/1: requests to origin servers and their responses (RFC 9112).

Public: answer.{AnswerReader, BackendError, ResponseHead}, request_writer, response_reader.ResponseReader.
Sockets and pools of connections are those of the caller.
Must not import: http2, engine.
"""
