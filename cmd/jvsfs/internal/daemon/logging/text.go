package logging

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"go.uber.org/zap/buffer"
	"go.uber.org/zap/zapcore"

	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/human"
)

// textEncoder writes a line for people: time, level, sentence, key=value. Text that a user chose, such as a
// path or a purpose, can neither break the line nor reach a terminal as a control sequence.
type textEncoder struct {
	*zapcore.MapObjectEncoder // fields of zap's With
	journal                   bool
	pool                      buffer.Pool
}

func newTextEncoder(journal bool) *textEncoder {
	return &textEncoder{zapcore.NewMapObjectEncoder(), journal, buffer.NewPool()}
}

// Clone is zap's: a copy that can be given fields of its own.
func (e *textEncoder) Clone() zapcore.Encoder {
	c := newTextEncoder(e.journal)
	maps.Copy(c.Fields, e.Fields)
	return c
}

// EncodeEntry is zap's: one line with its newline.
func (e *textEncoder) EncodeEntry(entry zapcore.Entry, fields []zapcore.Field) (*buffer.Buffer, error) {
	line := e.pool.Get()
	if e.journal {
		fmt.Fprintf(line, "<%d>", syslogLevel(entry.Level))
	} else {
		line.AppendString(entry.Time.Format("2006-01-02T15:04:05.000Z07:00 "))
		line.AppendString(strings.ToUpper(entry.Level.String()) + " ")
	}
	line.AppendString(human.Printable(entry.Message))
	appendFields(line, e.Fields)
	for _, f := range fields { // one by one, to keep their order
		one := zapcore.NewMapObjectEncoder()
		f.AddTo(one)
		appendFields(line, one.Fields)
	}
	if entry.Stack != "" {
		line.AppendString(" stack=" + textValue(entry.Stack))
	}
	line.AppendByte('\n')
	return line, nil
}

func appendFields(line *buffer.Buffer, fields map[string]any) {
	for _, key := range slices.Sorted(maps.Keys(fields)) {
		line.AppendString(" " + human.Printable(key) + "=" + textValue(fields[key]))
	}
}

// textValue is a value as one word. It is quoted if it has more than one.
func textValue(v any) string {
	s := fmt.Sprint(v)
	plain := func(r rune) bool { return r > ' ' && r != '"' && r != '=' && r != '\\' && strconv.IsPrint(r) }
	if s == "" || strings.ContainsFunc(s, func(r rune) bool { return !plain(r) }) {
		return strconv.Quote(s)
	}
	return s
}

// syslogLevel is a level's number in sd-daemon(3).
func syslogLevel(l zapcore.Level) int {
	switch l {
	case zapcore.DebugLevel:
		return 7
	case zapcore.InfoLevel:
		return 6
	case zapcore.WarnLevel:
		return 4
	case zapcore.ErrorLevel:
		return 3
	}
	return 2
}
