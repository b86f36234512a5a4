"""An engine without sockets, for tests and for tools: runtime in memory, client over bytes, free ports.

Public: fake_runtime.{FakeRuntime, run_sync}, client.TestClient, ports.{free_port, free_ports}.
FakeRuntime implements engine's Runtime protocol; TestClient sends raw bytes and returns raw bytes.
Must not import: server, cli, pytest.
"""
