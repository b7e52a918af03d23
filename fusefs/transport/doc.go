// Package transport brings the requests of one mount from the kernel to a [Handler], and its answers back. It knows the
// protocol of FUSE and nothing of leases, paths or backing files, and imports nothing of ours.
//
// Requests come by /dev/fuse (devchannel.go), or by io_uring with a ring for each processor (ringchannel.go): [Transport.Greet]
// chooses. The most frequent operations are decoded in place (decode.go), the others by go-fuse (gofuse.go, which has all
// that depends on how that works inside). Both ways end in the same methods of the Handler with the same arguments.
// One table says what is known of each operation (operations.go).
//
// What it promises:
//   - Each request that was read is answered once, or not at all where the protocol has no answer (FORGET). A panic of the
//     Handler is EIO for that request.
//   - A request that waits for something that is not the disk (Transport.Wait) keeps no other from being read, however many
//     wait. So may locks that have to be waited for.
//   - At most a fixed number of each kind are in the Handler at a time (limits.go). The others stand in line in the order of
//     arrival; in a line that is too long they are refused by EAGAIN. Lookups, closes and the like never stand in line.
//   - A signal for a request closes the channel that its method has got. A request in line is called off only when its caller is
//     being killed. A signal that comes before its request is known is asked of the kernel again, or
//     kept for some seconds.
//   - FORGETs of many inodes are worked off one after the other, beside the requests.
//   - When the file system is unmounted or aborted, the Handler is told (Ended), so that it ends what waits for locks. What is under
//     way goes on to its end, and then Serve returns. FORGETs that are left are dropped.
//   - Serve owns all goroutines, those that take over in a Wait too. New and Greet leave none. What keeps threads on processors is undone when it returns.
//   - A ring that fails ends the connection (AbortBy): nobody waits for ever for a request that was lost with it.
//
// What it does not: requests of different callers have no order, and those of one caller only if it waits for the answers. It does not
// close /dev/fuse, mount or unmount. It does not retry, and does not time out. Notifications ([Notifier]) are not ordered
// with answers.
package transport
