"""Forks while other threads evaluate, Ctrl-C at the end of an evaluation, and threads that still run when the process ends."""
import subprocess
import sys

FORK = """
import sinter as np, os, threading
stop = False
def work():
    while not stop: float(np.sin(np.arange(1e5)).sum())
threads = [threading.Thread(target=work) for _ in range(3)]
for t in threads: t.start()
for k in range(30):
    child = os.fork()
    if child == 0: os._exit(0 if float((np.arange(10.) + k).sum()) == 45 + 10 * k else 1)
    assert os.waitpid(child, 0)[1] == 0
stop = True
for t in threads: t.join()
print("forked")
"""
SIGNAL = """
import sinter as np, os, signal, threading, time
def later(): threading.Timer(0.1, lambda: os.kill(os.getpid(), signal.SIGINT)).start()
for k in range(8):
    try:
        later()
        while True: float(np.sin(np.arange(1e5)).sum())
    except KeyboardInterrupt:
        pass
    assert float(np.arange(3.).sum()) == 3
hits = []
signal.signal(signal.SIGINT, lambda *a: hits.append(1))
later()
end = time.time() + 0.4
while time.time() < end: assert float(np.sum(np.zeros(1000000) + 1)) == 1000000
assert hits == [1]
print("went on")
"""
CHILD = """
import sinter as np, os, sys, threading, time
def work():
    while True: float(np.sin(np.arange(1e4)).sum())
for _ in range(3): threading.Thread(target=work, daemon=True).start()
def fork():
    for k in range(10):
        child = os.fork()
        if child == 0:
            float(np.arange(10.).sum())
            sys.stdout.flush()
            import atexit
            atexit._run_exitfuncs()
            os._exit(0 if float((np.arange(10.) + k).sum()) == 45 + 10 * k else 1)
        assert os.waitpid(child, 0)[1] == 0
    print("children ended", flush=True)
fork()
other = threading.Thread(target=fork)
other.start()
other.join()
"""
DAEMON = """
import sinter as np, threading, time
def work():
    while True: float(np.sin(np.arange(1e6)).sum())
for _ in range(3): threading.Thread(target=work, daemon=True).start()
time.sleep(0.3)
print("ended")
"""


def run(program):
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def test_a_fork_does_not_wait_for_threads_that_wait_for_the_interpreter():
    assert run(FORK) == "forked"


def test_ctrl_c_ends_one_evaluation_alone_and_a_handler_that_raises_nothing_none():
    assert run(SIGNAL) == "went on"


def test_children_end_though_threads_of_their_parent_waited_for_the_interpreter():
    assert run(CHILD).splitlines() == ["children ended"] * 2


def test_a_process_ends_while_threads_evaluate():
    assert run(DAEMON) == "ended"
