package mountcfg

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/goccy/go-yaml/ast"
)

// scalar returns the text of a value. It refuses a value of another type: YAML that converts
// silently hides mistakes. The error completes "KEY ".
func scalar(n ast.Node, k kind) (string, error) {
	switch n := n.(type) {
	case *ast.StringNode:
		if k != kindMillis {
			return n.Value, nil
		}
	case *ast.BoolNode:
		if k == kindEnforce || k == kindBool {
			return strconv.FormatBool(n.Value), nil
		}
	case *ast.IntegerNode:
		if k == kindMillis {
			return millis(n)
		}
		if k == kindDuration {
			return "", fmt.Errorf("wants a duration with a unit, such as %[1]ss or %[1]sms", n.GetToken().Value)
		}
	}
	return "", fmt.Errorf("wants %s, not %s", k.want(), describe(n))
}

// millis returns the integer as a duration text.
func millis(n *ast.IntegerNode) (string, error) {
	if digits := strings.TrimLeft(n.GetToken().Value, "+-"); len(digits) > 1 && digits[0] == '0' {
		return "", errors.New("wants a decimal number without a zero in front, which some readers of YAML take for octal")
	}
	limit := int64(maxDuration / time.Millisecond)
	var ms int64
	switch v := n.Value.(type) {
	case int64:
		ms = v
	case uint64:
		ms = int64(min(v, uint64(limit)+1))
	default:
		return "", errors.New("wants " + kindMillis.want())
	}
	if ms < -limit || ms > limit {
		return "", fmt.Errorf("wants at most %d milliseconds", limit)
	}
	return (time.Duration(ms) * time.Millisecond).String(), nil
}

// describe names a node for a person.
func describe(n ast.Node) string {
	switch n := n.(type) {
	case *ast.NullNode:
		return "nothing"
	case *ast.StringNode:
		return fmt.Sprintf("the text %q", n.Value)
	case *ast.BoolNode:
		return "the boolean " + strconv.FormatBool(n.Value)
	case *ast.IntegerNode, *ast.FloatNode, *ast.InfinityNode, *ast.NanNode:
		return "the number " + n.GetToken().Value
	case *ast.SequenceNode:
		return "a list"
	case *ast.MappingNode, *ast.MappingValueNode:
		return "a mapping"
	case *ast.AnchorNode, *ast.AliasNode, *ast.TagNode, *ast.MergeKeyNode:
		return "an anchor, alias or tag"
	case *ast.LiteralNode:
		return "a block of text"
	}
	return "this"
}
