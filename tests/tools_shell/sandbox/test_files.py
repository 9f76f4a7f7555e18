from __future__ import annotations

import sys

import pytest

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="sandboxes are for Linux")

FILES = {
    "open": "open(OUT + '/file', 'w')",
    "append": "open(OUT + '/file', 'a').write('x')",
    "create": "open(OUT + '/new', 'x')",
    "create without a name": "os.open(OUT, os.O_TMPFILE | os.O_WRONLY)",
    "truncate": "os.truncate(OUT + '/file', 0)",
    "open for reading and truncate": "os.open(OUT + '/file', os.O_RDONLY | os.O_TRUNC)",
    "read": "open(OUT + '/file').read()",
    "list": "os.listdir(OUT)",
    "remove a folder": "os.rmdir(OUT + '/empty')",
    "make a folder": "os.mkdir(OUT + '/folder')",
    "move in": "os.rename('mine', OUT + '/moved')",
    "exchange": "call('renameat2', -100, b'mine', -100, (OUT + '/file').encode(), 2)",
    "hard link into the workspace": "os.link(OUT + '/file', 'linked')",
    "hard link out of the workspace": "os.link('mine', OUT + '/linked')",
    "symbolic link": "os.symlink(OUT + '/file', 'link'); open('link', 'w')",
    "make a symbolic link": "os.symlink('file', OUT + '/link')",
    "make a FIFO": "os.mkfifo(OUT + '/fifo')",
    "the root of a process": "open('/proc/self/root' + OUT + '/file', 'w')",
    "the folder of another process": "open(f'/proc/{BYSTANDER}/cwd/file', 'w')",
    "dots": "open('../../outside/file', 'w')",
    "keys of the user": "open(os.path.dirname(OUT) + '/home/.ssh/canary').read()",
    "move out": "os.rename(OUT + '/file', 'stolen')",
}
METADATA = {
    "mode": "os.chmod(OUT + '/empty', 0o700)",
    "times": "os.utime(OUT + '/empty', (1, 1))",
    "owner": "os.chown(OUT + '/empty', os.getuid(), os.getgid())",
    "look": "os.stat(OUT + '/empty')",
}
SYSTEM = {
    "mount": "call('mount', OUT.encode(), ROOT.encode(), None, 4096, None)",
    "remount": "call('mount', None, b'/', None, 4096 | 32, None)",
    "remount the system": "call('mount', None, b'/usr', None, 4096 | 32, None)",
    "move a mount": "call('mount', b'/', b'.', None, 8192, None)",
    "new mount calls": "system('open_tree', -100, b'/', 1)",
    "mount attributes": "system('mount_setattr', -100, b'/', 0x8000, (ctypes.c_uint64 * 4)(0, 1, 0, 0), 32)",
    "change the root": "os.chroot('.')",
    "a new namespace": "call('unshare', 0x10020000)",
    "a child with namespaces": "system('clone', 0x10020011, 0, 0, 0, 0)",
    "a child by the new call": "system('clone3', (ctypes.c_uint64 * 8)(0x10020000, 0, 0, 0, 17), 64)",
    "another's namespace": "call('setns', os.open('/proc/1/ns/mnt', os.O_RDONLY), 0)",
    "a block device": "os.mknod('disk', stat.S_IFBLK | 0o600, os.makedev(254, 0))",
    "a character device": "os.mknod('memory', stat.S_IFCHR | 0o600, os.makedev(1, 1))",
    "settings of the kernel": "open('/proc/sys/kernel/core_pattern', 'r+')",
    "the magic key": "open('/proc/sysrq-trigger', 'w')",
    "sysfs": "open('/sys/kernel/profiling', 'w')",
    "devices of sysfs": "open('/sys/devices/system/cpu/online', 'r+')",
    "raw disks": "[os.open(f'/dev/{name}', os.O_RDONLY) for name in ('vda', 'sda', 'xvda', 'nvme0n1')]",
    "kernel memory": "open('/proc/kcore', 'rb').read(1)",
    "passwords": "open('/etc/shadow').read()",
    "a program of the system": "open('/usr/bin/env', 'r+b')",
    "a folder of the system": "os.open('/usr/bin', os.O_TMPFILE | os.O_WRONLY)",
    "kernel messages": "call('klogctl', 3, ctypes.create_string_buffer(64), 64)",
    "bpf": "system('bpf', 0, (ctypes.c_uint32 * 32)(1, 4, 4, 1), 128)",
    "events": "system('perf_event_open', ctypes.create_string_buffer(128), 0, -1, -1, 0)",
    "page faults": "system('userfaultfd', 1)",
    "keys of the kernel": "system('keyctl', 0, -3, 1)",
    "clock": "import time; time.clock_settime(time.CLOCK_REALTIME, time.time())",
    "host name": "socket.sethostname(socket.gethostname())",
}


# With harmless arguments, in case they get through.
HARMLESS = {
    "unmount": "call('umount2', b'/', 0)",
    "swap": "call('swapoff', b'/nothing')",
    "module": "system('delete_module', b'nothing', 0)",
    "restart": "system('reboot', 0, 0, 0, None)",
    "kernel": "system('kexec_load', 0, 1000, None, 0)",
}


def test_files_outside_the_workspace_are_neither_read_nor_changed(place, sandbox_level):
    before = place.state()
    assert place.refuses(sandbox_level, FILES)
    assert place.state() == before


def test_the_same_succeeds_without_a_sandbox(place):
    outcomes = place.attack("none", {**METADATA, **FILES})
    assert {name: how for name, how in outcomes.items() if how != "done"} == {}


def test_in_bubblewrap_not_even_modes_and_times_outside_are_known_or_changed(place):
    before = place.state()
    assert place.refuses("bubblewrap", METADATA)
    assert place.state() == before


def test_settings_of_the_machine_are_neither_read_nor_changed(place, sandbox_level):
    assert place.refuses(sandbox_level, SYSTEM)
    # Some kernels are built without modules, or kexec.
    assert set(place.attack(sandbox_level, HARMLESS).values()) <= {"refused EPERM", "refused ENOSYS"}


READ_ONLY = {
    "open": "open(SHOWN, 'r+')",
    "truncate": "os.truncate(SHOWN, 0)",
    "open for reading and truncate": "os.open(SHOWN, os.O_RDONLY | os.O_TRUNC)",
    "reopen": "file = os.open(SHOWN, os.O_RDONLY); os.open(f'/proc/self/fd/{file}', os.O_RDWR)",
    "reopen a path": "file = os.open(SHOWN, os.O_PATH); open(f'/proc/self/fd/{file}', 'w')",
    "hard link": "os.link(SHOWN, 'linked')",
    "rename": "os.rename(SHOWN, 'stolen')",
    "map": "mmap.mmap(os.open(SHOWN, os.O_RDONLY), 6, mmap.MAP_SHARED, mmap.PROT_WRITE)",
    "through its own memory": """
file = os.open(SHOWN, os.O_RDONLY)
mapped = mmap.mmap(file, 6, mmap.MAP_SHARED, mmap.PROT_READ)
at = int(next(line for line in open('/proc/self/maps') if SHOWN in line).split('-')[0], 16)
os.pwrite(os.open('/proc/self/mem', os.O_RDWR), b'spoilt', at)
""",
}


def test_readable_paths_can_be_read_and_executed_but_not_written(place, sandbox_level):
    before = place.state()
    begin = "SHOWN = os.path.dirname(OUT) + '/shown/file'; assert open(SHOWN).read() == 'canary'\n"
    attacks = {name: begin + body for name, body in READ_ONLY.items()}
    assert place.refuses(sandbox_level, attacks, readable=[str(place.shown)])
    assert place.state() == before
    (place.shown / "program").write_text("#!/bin/sh\necho ran\n")
    (place.shown / "program").chmod(0o755)
    assert place.run(sandbox_level, str(place.shown / "program"), readable=[str(place.shown)]).stdout == "ran\n"


def test_writable_paths_can_be_written(place, sandbox_level):
    outcomes = place.attack(
        sandbox_level, {"write": "open(OUT + '/new', 'x').write('made')"}, writable=[str(place.outside)]
    )
    assert outcomes == {"write": "done"}
    assert (place.outside / "new").read_text() == "made"


SET_ID = {
    "chmod": "os.chmod('mine', 0o4755)",
    "group": "os.chmod('mine', 0o2755)",
    "fchmod": "os.fchmod(os.open('mine', os.O_RDONLY), 0o4755)",
    "fchmodat": "system('fchmodat', -100, b'mine', 0o4755)",
    "fchmodat2": "system('fchmodat2', -100, b'mine', 0o4755, 0)",
    "open": "os.umask(0); os.open('new', os.O_CREAT | os.O_WRONLY, 0o4755)",
    "without a name": "os.umask(0); os.open('.', os.O_TMPFILE | os.O_WRONLY, 0o4755)",
    "mknod": "os.umask(0); os.mknod('new', stat.S_IFREG | 0o4755)",
    "openat2": "os.umask(0); system('openat2', -100, b'new', (ctypes.c_uint64 * 3)(0o101, 0o4755, 0), 24)",
}


def test_set_id_files_cannot_be_created(place, sandbox_level):
    assert place.refuses(sandbox_level, SET_ID)
    assert [path for path in place.root.rglob("*") if path.stat().st_mode & 0o6000] == []


def test_a_workspace_in_the_home_hides_the_rest_of_the_home(place, sandbox_level):
    project = place.home / "project"
    project.mkdir()
    project.chmod(0o777)
    ran = place.run(sandbox_level, "/bin/cat", "../.ssh/canary", root=str(project), workdir=str(project))
    assert ran.code != 0
    assert ran.stdout == ""


def test_a_workspace_at_the_file_system_root_excludes_devices_and_kernel_settings(place, sandbox_level):
    attack = {"write": "open(OUT + '/new', 'x')"}
    workspace = {"root": "/", "workdir": str(place.root)}
    assert place.attack(sandbox_level, attack, **workspace) == {"write": "done"}
    assert (place.outside / "new").exists()
    names = ("settings of the kernel", "the magic key", "devices of sysfs", "raw disks")
    assert place.refuses(sandbox_level, {name: SYSTEM[name] for name in names}, **workspace)
