# Suites that others wrote. Each function gets a directory, prints "CASE<TAB>OUTCOME"
# lines, and says everything else on standard error. $work holds what was built; with
# $quick set there is less of everything.
# shellcheck shell=bash disable=SC2154

# outcome CASE COMMAND...: runs it, bounded, and tells whether it succeeded.
outcome() {
  local name=$1 code=0
  shift
  timeout -k 5 "${LIMIT:-120}" "$@" >&2 </dev/null || code=$?
  case $code in
  0) printf '%s\tpass\n' "$name" ;;
  124 | 137) printf '%s\ttimed out\n' "$name" ;;
  *) printf '%s\texit %d\n' "$name" "$code" ;;
  esac
}

# gotests PREFIX BINARY [ARG...]: the tests and subtests of a Go test binary.
gotests() {
  local prefix=$1
  shift
  timeout -k 5 600 "$@" -test.v 2>&1 </dev/null | tee /dev/stderr |
    sed -nE "s#^ *--- (PASS|FAIL|SKIP): ([^ ]+) .*#$prefix/\2\t\1#p" || true
}

build_posixtest() { (cd "$root" && go test -c -o "$work/posixtest.test" ./integration/conformance); }
suite_posixtest() { CONFORMANCE_DIR=$1 gotests posixtest "$work/posixtest.test" -test.run TestPosix; }

go_packages=(os io/fs io/ioutil path/filepath os/exec syscall internal/syscall/unix internal/poll archive/tar testing/fstest
  cmd/go/internal/lockedfile cmd/go/internal/lockedfile/internal/filelock)

build_go() {
  local p
  for p in "${go_packages[@]}"; do
    go test -c -o "$work/go/${p//\//.}.test" "$p"
  done
}

suite_go() {
  local p
  for p in "${go_packages[@]}"; do
    (cd "$(go env GOROOT)/src/$p" && TMPDIR=$1 gotests "go/$p" "$work/go/${p//\//.}.test")
  done
}

python_modules=(test_os test_posix test_shutil test_mmap test_tempfile test_fcntl test_pathlib test_glob test_file test_fileio
  test_stat test_posixpath test_genericpath test_mailbox test_tarfile test_zipfile test_dbm test_shelve test_fnmatch test_largefile
  test_selectors test_py_compile test_compileall)

suite_python() {
  local m
  for m in "${python_modules[@]}"; do
    mkdir "$1/$m"
    (cd "$1/$m" && TMPDIR=$1/$m HOME=$1 timeout -k 5 300 /usr/bin/python3 -B "$suites/unittests.py" "$m" </dev/null) |
      sed 's#^#python/#' || printf 'python/%s\tended early\n' "$m"
  done
}

stressors=(access aio aiol chattr chdir chmod chown copy-file dentry dir dirdeep dirmany dnotify dup fallocate fanotify fcntl
  fiemap file-ioctl filename flock fpunch fsize fstat getdent handle hdd inode-flags inotify io io-uring iomix lease link locka
  lockf lockofd metamix mknod mmap mmapfork msync open readahead rename revio seek sendfile splice symlink sync-file touch utime
  verity xattr)

suite_stress() {
  local s seconds=4
  [[ ! ${quick:-} ]] || seconds=1
  for s in "${stressors[@]}"; do
    (cd "$1" && LIMIT=90 outcome "stress/$s" stress-ng "--$s" 2 -t "$seconds" --verify --temp-path "$1" --no-rand-seed)
  done
}

# fio writes with a pattern, reads back and compares.
suite_fio() {
  local engine way block direct engines=(psync mmap libaio io_uring) blocks=(4k 7k)
  [[ ${quick:-} ]] || engines+=(sync vsync pvsync2 posixaio splice) blocks+=(512 128k)
  for engine in "${engines[@]}"; do
    for way in write randwrite rw randrw; do
      for block in "${blocks[@]}"; do
        for direct in 0 1; do
          # Memory that no sector fits is refused natively.
          [[ $direct == 0 || $block == 4k || $block == 128k ]] || continue
          outcome "fio/$engine/$way/$block/direct=$direct" fio --name=v --directory="$1" --ioengine="$engine" --rw="$way" \
            --bs="$block" --direct="$direct" --size=4m --iodepth=8 --verify=crc32c --do_verify=1 --verify_fatal=1 --randseed=7 \
            --numjobs=1 --fallocate=none --minimal --verify_state_save=0 --unlink=1
        done
      done
    done
  done
  fio_options "$1"
}

fio_options() {
  local option
  for option in --verify=md5 --verify=sha256 --verify_async=2 --verify_backlog=64 --fsync=8 --fdatasync=8 --sync=1 --fallocate=posix \
    --fallocate=keep --fallocate=truncate --numjobs=8 --overwrite=1 --trim_percentage=0 --norandommap=1 --nrfiles=16 --create_on_open=1 \
    --file_append=1 --sync_file_range=write:8 --invalidate=1 --openfiles=4 --refill_buffers=1 --zero_buffers=1; do
    outcome "fio/option/$option" fio --name=o --directory="$1" --ioengine=psync --rw=randwrite --bs=4k --size=4m --verify=crc32c \
      --do_verify=1 --verify_fatal=1 --randseed=9 --minimal --verify_state_save=0 --unlink=1 "$option"
  done
}

suite_dbench() {
  outcome dbench/4 dbench -c /usr/share/dbench/client.txt -D "$1" -t 5 4
  outcome dbench/16-sync dbench -c /usr/share/dbench/client.txt -D "$1" -s -t 5 16
}
