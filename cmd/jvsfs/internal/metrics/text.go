package metrics

import "strings"

var (
	helpEscapes  = strings.NewReplacer(`\`, `\\`, "\n", `\n`)
	valueEscapes = strings.NewReplacer(`\`, `\\`, "\n", `\n`, `"`, `\"`)
)

// Text is the families as Prometheus reads them.
func Text(all []*Family) string {
	var to strings.Builder
	for _, f := range all {
		f.write(&to)
	}
	return to.String()
}

func (f *Family) write(to *strings.Builder) {
	to.WriteString("# HELP " + f.Name + " " + helpEscapes.Replace(f.Help) + "\n")
	to.WriteString("# TYPE " + f.Name + " " + string(f.Kind) + "\n")
	for _, series := range f.Series {
		for _, sample := range series.Samples {
			to.WriteString(f.Name + sample.suffix)
			writeLabels(to, series.Labels, sample.bound)
			to.WriteString(" " + number(sample.Value) + "\n")
		}
	}
}

// writeLabels writes the bound last.
func writeLabels(to *strings.Builder, labels []Label, bound Label) {
	sep := "{"
	write := func(l Label) {
		to.WriteString(sep + l.Name + `="` + valueEscapes.Replace(strings.ToValidUTF8(l.Value, "\uFFFD")) + `"`)
		sep = ","
	}
	for _, l := range labels {
		write(l)
	}
	if bound.Name != "" {
		write(bound)
	}
	if sep == "," {
		to.WriteString("}")
	}
}
