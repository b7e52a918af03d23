package transport

import "time"

// A signal that comes before the request is in the ring is not told to us: the kernel has set FR_INTERRUPTED, and sends the
// INTERRUPT only if FR_SENT is set (request_wait_answer), as it is when the ring's thread has copied the request
// (fuse_uring_prepare_send). A reader of /dev/fuse looks for such a signal (fuse_dev_do_read), a ring does not. It is no rare
// case: who is killed while one request waits goes on with the next one of the same call. So who waits is looked at.
const (
	signalFirst = 10 * time.Millisecond
	signalMost  = 500 * time.Millisecond // there may be thousands
)

// watchSignal tells of a signal of the thread that waits for a request, once, before stop is closed.
func (r *ringChannel) watchSignal(tid uint32, stop <-chan struct{}, unique uint64) {
	for pause := signalFirst; ; pause = min(2*pause, signalMost) {
		select {
		case <-stop:
			return
		case <-time.After(pause):
		}
		if r.signalled(tid) {
			r.tell(unique)
			return
		}
	}
}
