package main

import (
	"image/color"
	"math"
	"slices"
	"strconv"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// colours that people with any colour vision tell apart (Okabe and Ito), ours the
// strongest.
var colours = map[string]color.RGBA{
	"jvsfs":          {0xd5, 0x5e, 0x00, 0xff},
	overDevice:       {0xe6, 0x9f, 0x00, 0xff},
	overRing:         {0x00, 0x00, 0x00, 0xff},
	"loopback":       {0x00, 0x72, 0xb2, 0xff},
	"bindfs":         {0x00, 0x9e, 0x73, 0xff},
	"overlayfs":      {0xcc, 0x79, 0xa7, 0xff},
	"passthrough_ll": {0x99, 0x99, 0x99, 0xff},
}

var shapes = map[string]draw.GlyphDrawer{
	overDevice: draw.RingGlyph{}, overRing: draw.CrossGlyph{},
	"loopback": draw.TriangleGlyph{}, "bindfs": draw.BoxGlyph{}, "overlayfs": draw.PyramidGlyph{},
}

func glyph(target string) draw.GlyphStyle {
	style := draw.GlyphStyle{Color: colours[target], Radius: 2.4, Shape: draw.CircleGlyph{}}
	if shape, ok := shapes[target]; ok {
		style.Shape = shape
	}
	if target == "jvsfs" {
		style.Radius = 3.4
	}
	return style
}

func (run mediumRun) panel(names bool, scale func() (low, high float64)) (*plot.Plot, error) {
	p := plot.New()
	p.Title.Text = "on " + run.Medium
	p.Title.TextStyle.Font.Size = 9
	p.X.Scale, p.X.Tick.Marker = plot.LogScale{}, powers{}
	p.X.Tick.Label.Font.Size = 8
	p.Y.Tick.Label.Font.Size = 8
	p.Y.LineStyle.Width, p.Y.Tick.LineStyle.Width = 0, 0
	p.X.Min, p.X.Max = scale()
	run.scale(p, names)
	for _, t := range slices.Backward(run.Targets[1:]) {
		dots, err := plotter.NewScatter(run.dots(t))
		if err != nil {
			return nil, err
		}
		dots.GlyphStyle = glyph(t)
		p.Add(dots)
	}
	return p, nil
}

// scale draws what the eye follows: a line for each row and each power, and native.
func (run mediumRun) scale(p *plot.Plot, names bool) {
	labels := make([]string, len(run.Rows)+1)
	for i, r := range run.Rows {
		if names {
			labels[len(run.Rows)-i] = r.Row
		}
	}
	if names {
		labels[0] = "geometric mean"
	}
	p.NominalY(labels...)
	p.Y.Min, p.Y.Max = -0.6, float64(len(run.Rows))+0.6
	grid := plotter.NewGrid()
	pale := draw.LineStyle{Color: color.Gray{0xe4}, Width: vg.Points(0.5)}
	grid.Horizontal, grid.Vertical = pale, pale
	native, _ := plotter.NewLine(plotter.XYs{{X: 1, Y: p.Y.Min}, {X: 1, Y: p.Y.Max}})
	native.LineStyle = draw.LineStyle{Color: color.Gray{0x60}, Width: vg.Points(1)}
	p.Add(grid, native)
}

// dots of a target: rows from top to bottom, the geometric mean last.
func (run mediumRun) dots(target string) plotter.XYs {
	var out plotter.XYs
	for i, r := range run.Rows {
		if m := r.Cells[target].Ratio.Median; m > 0 {
			out = append(out, plotter.XY{X: m, Y: float64(len(run.Rows) - i)})
		}
	}
	if m := run.mean(target); m > 0 {
		out = append(out, plotter.XY{X: m, Y: 0})
	}
	return out
}

// span is the scale that all panels share.
func (rep report) span() (low, high float64) {
	low, high = 0.8, 3
	for _, run := range rep.Media {
		for _, t := range run.Targets {
			for _, dot := range run.dots(t) {
				low, high = math.Min(low, dot.X), math.Max(high, dot.X)
			}
		}
	}
	return low / 1.2, high * 1.2
}

// powers are the marks of the scale: 1, 2, 5 of each power of ten.
type powers struct{}

func (powers) Ticks(low, high float64) []plot.Tick {
	var out []plot.Tick
	for power := math.Pow(10, math.Floor(math.Log10(low))); power <= high; power *= 10 {
		for _, step := range []float64{1, 2, 5} {
			if v := step * power; v >= low && v <= high {
				out = append(out, plot.Tick{Value: v, Label: strconv.FormatFloat(v, 'g', 3, 64)})
			}
		}
	}
	return out
}

func background(c draw.Canvas, paint func(draw.Canvas)) {
	c.SetColor(color.White)
	c.Fill(c.Rectangle.Path())
	paint(c)
}
