"""python -m sinter: the command."""
import os
import sys


def main():
    command = os.path.join(os.path.dirname(__file__), "bin", "sinter")
    if not os.path.exists(command):
        sys.exit("python -m sinter: this installation has no command beside the package")
    os.execv(command, ["sinter", *sys.argv[1:]])


if __name__ == "__main__":
    main()
