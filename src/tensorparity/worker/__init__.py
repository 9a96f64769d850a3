"""The island: what runs inside an environment under test.

It asks nothing of that environment but NumPy and the library under test, imports nothing of the
host, and runs on every Python from 3.6 on. The host starts it under the package name
``tensorparity_worker``; only ``protocol`` may be imported by the host as well.
"""
