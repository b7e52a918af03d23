package mountcfg

import (
	"fmt"
	"strconv"
	"strings"
)

// option is one item of a list of mount options.
type option struct {
	name, value string
	valued      bool // it has a "=" with a value, perhaps empty
}

// splitOptions splits a list at its commas as libmount does (ul_optstr_next in util-linux). Empty
// items are ignored.
func splitOptions(text string) ([]option, error) {
	var s optionSplitter
	for i := 0; i < len(text); i++ {
		c := text[i]
		if c == '\\' && i+1 < len(text) && strings.IndexByte(`,"\`, text[i+1]) >= 0 {
			i++
			s.word = append(s.word, text[i])
			continue
		}
		if err := s.next(c); err != nil {
			return nil, err
		}
	}
	if s.quoted {
		return nil, fmt.Errorf("mount option %s: its double quote is not closed", quoteName(s.item.name+string(s.word)))
	}
	err := s.end()
	return s.items, err
}

type optionSplitter struct {
	items  []option
	item   option // the current item
	word   []byte // its name, or its value after a "="
	quoted bool
}

func (s *optionSplitter) next(c byte) error {
	switch {
	case c == '"':
		s.quoted = !s.quoted
	case c == ',' && !s.quoted:
		return s.end()
	case c == '=' && !s.quoted && !s.item.valued:
		s.item.name, s.item.valued, s.word = string(s.word), true, nil
	default:
		s.word = append(s.word, c)
	}
	return nil
}

func (s *optionSplitter) end() error {
	item := s.item
	if item.valued {
		item.value = string(s.word)
	} else {
		item.name = string(s.word)
	}
	s.item, s.word = option{}, nil
	if item.name == "" {
		if item.valued {
			return fmt.Errorf("mount option %s: a value without a name", quoteName("="+item.value))
		}
		return nil
	}
	s.items = append(s.items, item)
	return nil
}

var optionEscapes = strings.NewReplacer(`\`, `\\`, `,`, `\,`, `"`, `\"`)

func escapeOption(value string) string { return optionEscapes.Replace(value) }

// quoteName makes a name safe for a message: anybody may have written it.
func quoteName(name string) string {
	const most = 64
	if len(name) > most {
		name = name[:most] + "..."
	}
	return strconv.Quote(name)
}
