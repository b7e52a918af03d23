package mcp

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
)

// maxLine bounds a message. The arguments of the tools are paths and a purpose.
const maxLine = 1 << 20

// lines passes on the messages of an input, one a line. The SDK ends the connection, and with it the server and its leases, at the first
// line that is none. JSON-RPC answers such a line and goes on (https://www.jsonrpc.org/specification#error_object).
type lines struct {
	in   *bufio.Reader
	out  io.Writer
	rest []byte // of a message that was read in part
}

// newLines reads in, and answers to out what is no message. Writes to out must not mix, as those to a file do not.
func newLines(in io.Reader, out io.Writer) *lines { return &lines{in: bufio.NewReader(in), out: out} }

// Read gives the next message, or a part of it.
func (l *lines) Read(p []byte) (int, error) {
	for len(l.rest) == 0 {
		line, err := l.next()
		if err != nil {
			return 0, err
		}
		wrong := mistakeIn(line)
		if wrong == nil {
			l.rest = append(line, '\n')
		} else if err := l.answer(line, wrong); err != nil {
			return 0, err
		}
	}
	n := copy(p, l.rest)
	l.rest = l.rest[n:]
	return n, nil
}

// byteOrderMark begins what some programs of Windows write. RFC 8259 (8.1) lets a reader ignore it.
var byteOrderMark = []byte("\ufeff")

// next is the next line that is not blank, without the space around it. Of one that is too long only a part is kept, which is no JSON.
func (l *lines) next() (line []byte, err error) {
	for err == nil && len(line) == 0 {
		var part []byte
		for more := bufio.ErrBufferFull; errors.Is(more, bufio.ErrBufferFull); {
			part, more = l.in.ReadSlice('\n')
			line = append(line, part[:min(len(part), maxLine+1-len(line))]...)
			err = more
		}
		line = bytes.TrimSpace(bytes.TrimPrefix(line, byteOrderMark))
	}
	if errors.Is(err, io.EOF) && len(line) > 0 {
		err = nil // the end comes again
	}
	return line, err
}

// mistakeIn says what is wrong with a line, nil for a message.
func mistakeIn(line []byte) *jsonrpc.Error {
	if len(line) > maxLine {
		return &jsonrpc.Error{Code: jsonrpc.CodeInvalidRequest, Message: fmt.Sprintf("a message has more than %d bytes", maxLine)}
	}
	if !json.Valid(line) {
		return &jsonrpc.Error{Code: jsonrpc.CodeParseError, Message: "a line is no JSON"}
	}
	if line[0] == '[' {
		return &jsonrpc.Error{Code: jsonrpc.CodeInvalidRequest, Message: "a batch: send one message a line"}
	}
	if _, err := jsonrpc.DecodeMessage(line); err != nil {
		return &jsonrpc.Error{Code: jsonrpc.CodeInvalidRequest, Message: "a line is no message of JSON-RPC 2.0: " + err.Error()}
	}
	return nil
}

// answer sends an error, with the id of the request if it has one that can be told.
func (l *lines) answer(line []byte, wrong *jsonrpc.Error) error {
	var request struct {
		ID any `json:"id"`
	}
	_ = json.Unmarshal(line, &request) // what is no object has no id
	if _, err := jsonrpc.MakeID(request.ID); err != nil {
		request.ID = nil
	}
	text, err := json.Marshal(map[string]any{"jsonrpc": "2.0", "id": request.ID, "error": wrong})
	if err == nil {
		_, err = l.out.Write(append(text, '\n'))
	}
	return err
}
