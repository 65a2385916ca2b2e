"""Web servers of the tests."""

import http.server
import threading


class LocalServer(http.server.ThreadingHTTPServer):
    """On a free port of this machine, with its `url`; answers within a with statement."""

    daemon_threads = True
    request_queue_size = 256

    def __init__(self, handler):
        super().__init__(("127.0.0.1", 0), handler)
        self.url = f"http://127.0.0.1:{self.server_port}"

    def __enter__(self):
        threading.Thread(target=self.serve_forever, daemon=True).start()
        return self

    def __exit__(self, *_):
        self.shutdown()
        self.server_close()
