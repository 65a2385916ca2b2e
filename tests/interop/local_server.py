"""Web servers of the tests."""

import http.server
import socket
import threading


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


class LocalServer(http.server.ThreadingHTTPServer):
    """On a free port of this machine, with its `url`; answers within a with statement. `host`: its address."""

    daemon_threads = True
    request_queue_size = 256

    def __init__(self, handler, host="127.0.0.1"):
        self.address_family = socket.AF_INET6 if ":" in host else socket.AF_INET
        super().__init__((host, 0), handler)
        self.url = f"http://{f'[{host}]' if ':' in host else host}:{self.server_port}"

    def __enter__(self):
        threading.Thread(target=self.serve_forever, daemon=True).start()
        return self

    def __exit__(self, *_):
        self.shutdown()
        self.server_close()
