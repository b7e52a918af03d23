package mountcfg

import "github.com/goccy/go-yaml/token"

// mostNesting is how deep the values of a file may be nested; a real one has four levels.
const mostNesting = 32

// tooDeep returns the token at which a document is nested deeper than any configuration is, nil if it is not. The parser's time and memory
// grow with the square of the depth: a file of 20 KiB could keep it busy for minutes.
func tooDeep(tokens token.Tokens) *token.Token {
	flow, dashes, line := 0, 0, 0
	for _, t := range tokens {
		switch t.Type {
		case token.SequenceStartType, token.MappingStartType:
			flow++
		case token.SequenceEndType, token.MappingEndType:
			flow--
		case token.SequenceEntryType: // dashes on one line open a list each
			if t.Position.Line != line {
				dashes, line = 0, t.Position.Line
			}
			dashes++
		}
		if flow > mostNesting || dashes > mostNesting {
			return t
		}
	}
	return nil
}
