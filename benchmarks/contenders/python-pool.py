import multiprocessing
import sys


def increment(number):
    return number + 1


if __name__ == "__main__":
    with multiprocessing.Pool(int(sys.argv[1])) as pool:
        for line in sys.stdin:
            items = [(i,) for i in range(int(line))]
            print(sum(pool.starmap(increment, items, chunksize=50)), flush=True)
