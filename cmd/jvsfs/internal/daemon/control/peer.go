package control

import (
	"errors"
	"fmt"
	"net"
	"os"
	"os/user"
	"strconv"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/api"
	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/host"
	"github.com/jvsfs/jvsfs/gate/process"
)

// Peer is the process at the other end of a control connection, as the kernel knows it. The descriptor pins it:
// if the process still lives after /proc/PID was read, the text was about the peer.
type Peer struct {
	PID int // in our pid namespace; 0 = the peer cannot be seen from here
	UID uint32
	fd  *os.File
}

// soPeerPidfd is SO_PEERPIDFD (Linux 6.5).
const soPeerPidfd = 77

// identifyPeer asks the kernel who connected.
func identifyPeer(conn *net.UnixConn) (Peer, error) {
	raw, err := conn.SyscallConn()
	if err != nil {
		return Peer{}, err
	}
	var p Peer
	var inner error
	err = raw.Control(func(fd uintptr) { p, inner = peerOfSocket(int(fd)) })
	return p, errors.Join(err, inner)
}

func peerOfSocket(fd int) (Peer, error) {
	cred, err := unix.GetsockoptUcred(fd, unix.SOL_SOCKET, unix.SO_PEERCRED)
	if err != nil {
		return Peer{}, os.NewSyscallError("SO_PEERCRED", err)
	}
	p := Peer{PID: int(cred.Pid), UID: cred.Uid}
	if p.PID <= 0 {
		return Peer{UID: cred.Uid}, nil
	}
	pidfd, err := unix.GetsockoptInt(fd, unix.SOL_SOCKET, soPeerPidfd)
	if err != nil {
		// Before Linux 6.5. Another process may have the number by now, unless the peer still holds its end
		// open.
		pidfd, err = unix.PidfdOpen(p.PID, 0)
		if err == nil && hungUp(fd) {
			err = errors.Join(syscall.ESRCH, unix.Close(pidfd))
		}
	}
	if err != nil {
		return Peer{}, fmt.Errorf("peer %d: %w", p.PID, err)
	}
	unix.CloseOnExec(pidfd)
	p.fd = os.NewFile(uintptr(pidfd), "peer")
	return p, nil
}

func hungUp(fd int) bool {
	p := []unix.PollFd{{Fd: int32(fd), Events: unix.POLLRDHUP}}
	_, err := unix.Poll(p, 0)
	return err != nil || p[0].Revents&(unix.POLLHUP|unix.POLLRDHUP|unix.POLLERR) != 0
}

// Alive reports whether the peer still lives. Then its number is its own.
func (p Peer) Alive() bool { return p.fd != nil && process.PidfdAlive(p.fd) }

func (p Peer) close() {
	if p.fd != nil {
		_ = p.fd.Close() // a pidfd has nothing to flush
	}
}

// receiveRequest reads the request line, and the descriptor that may come with its first byte. There is room
// for one descriptor; the kernel drops any others.
func receiveRequest(conn *net.UnixConn) ([]byte, *os.File, error) {
	var line []byte
	var pidfd *os.File
	buf, oob := make([]byte, 4096), make([]byte, unix.CmsgSpace(4))
	for {
		n, oobn, _, _, err := conn.ReadMsgUnix(buf, oob)
		n, oobn = max(n, 0), max(oobn, 0) // both are -1 with an error
		if pidfd == nil {
			pidfd = descriptorIn(oob[:oobn])
		} else {
			host.CloseFile(descriptorIn(oob[:oobn]))
		}
		line = append(line, buf[:n]...)
		switch {
		case n > 0 && line[len(line)-1] == '\n':
			return line, pidfd, nil
		case len(line) > api.MaxRequest:
			err = fmt.Errorf("%w: more than %d bytes", api.ErrRequest, api.MaxRequest)
		case err == nil && n == 0:
			err = fmt.Errorf("%w: the connection ended before the request did", api.ErrRequest)
		}
		if err != nil {
			host.CloseFile(pidfd)
			return nil, nil, err
		}
	}
}

func descriptorIn(oob []byte) *os.File {
	messages, err := unix.ParseSocketControlMessage(oob)
	if err != nil {
		return nil
	}
	var first *os.File
	for i := range messages {
		fds, err := unix.ParseUnixRights(&messages[i])
		if err != nil {
			continue
		}
		for _, fd := range fds {
			if first == nil {
				first = os.NewFile(uintptr(fd), "pidfd")
			} else {
				_ = unix.Close(fd)
			}
		}
	}
	return first
}

// ErrUnseenNumber says that the number of a process cannot be understood.
var ErrUnseenNumber = errors.New("it has ended, or runs in a pid namespace that the daemon does not share with this command")

// NumbersAgree reports whether a number names the same process to the peer and to
// the daemon: both are in the same pid namespace.
func (p Peer) NumbersAgree() bool {
	if p.PID == 0 {
		return false
	}
	own := process.PIDNamespaceOf("self")
	return own != "" && own == process.PIDNamespaceOf(strconv.Itoa(p.PID)) && p.Alive()
}

// String names a peer for people.
func (p Peer) String() string { return fmt.Sprintf("%s (pid %d)", p.User(), p.PID) }

// User is the name of its user id, or the number if that has none.
func (p Peer) User() string {
	n := strconv.FormatUint(uint64(p.UID), 10)
	if u, err := user.LookupId(n); err == nil {
		return u.Username
	}
	return n
}
