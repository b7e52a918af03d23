package mountcfg

import "github.com/goccy/go-yaml/ast"

func readRules(file string, do func(*reader, ast.Node), checks []RuleCheck) (Config, error) {
	data, err := readBounded(file)
	if err != nil {
		return Config{}, err
	}
	return newReader(file, "", data).read(data, do, checks)
}

// ruleFile reads a file that has rules alone: a list, or the key rules.
func (r *reader) ruleFile(body ast.Node) {
	if _, list := body.(*ast.SequenceNode); list {
		r.rules(body)
		return
	}
	r.each(body, "a file of rules", func(key string, entry *ast.MappingValueNode) {
		if key != keyRules {
			r.fail(entry.Key, "%q has no meaning in a file of rules: it has the key %s alone, or is the list itself", key, keyRules)
			return
		}
		r.rules(entry.Value)
	})
}

func (r *reader) ruleFileOrConfiguration(body ast.Node) {
	if _, list := body.(*ast.SequenceNode); list {
		r.rules(body)
		return
	}
	r.configuration(body)
}
