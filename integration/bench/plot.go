package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgimg"
	"gonum.org/v1/plot/vg/vgsvg"
)

const (
	rowHeight  = vg.Inch * 13 / 72
	panelWidth = 3.2 * vg.Inch
	labelWidth = 1.6 * vg.Inch
	frame      = 1.1 * vg.Inch // title, legend, scale
)

// draw makes the picture: a panel for each medium, a line for each row, a dot for
// each target where its ratio to native is.
func (rep report) draw(path string) error {
	plot.DefaultFont = font.Font{Typeface: "Liberation", Variant: "Sans"}
	var panels []*plot.Plot
	for i, run := range rep.Media {
		if len(run.Rows) == 0 {
			continue
		}
		p, err := run.panel(i == 0, rep.span)
		if err != nil {
			return err
		}
		panels = append(panels, p)
	}
	if path == "" || len(panels) == 0 {
		return nil
	}
	width := labelWidth + panelWidth*vg.Length(len(panels))
	height := frame + rowHeight*vg.Length(len(rep.Media[0].Rows)+1)
	return writePicture(path, width, height, func(c draw.Canvas) { rep.arrange(c, panels) })
}

// arrange gives the first panel the room for the names of the rows.
func (rep report) arrange(c draw.Canvas, panels []*plot.Plot) {
	title := plot.New().Title.TextStyle
	title.Font.Size = 10
	title.XAlign = draw.XCenter
	title.YAlign = draw.YTop
	c.FillText(title, vg.Point{X: c.Center().X, Y: c.Max.Y - 4}, "Time in relation to the native directory (log scale, less is better)")
	title.Font.Size = 7.5
	c.FillText(title, vg.Point{X: c.Center().X, Y: c.Max.Y - 18}, rep.Conditions.String())
	legend(c, rep.Media[0].Targets[1:])
	left := c.Min.X
	for i, p := range panels {
		right := left + panelWidth
		if i == 0 {
			right += labelWidth
		}
		p.Draw(draw.Canvas{Canvas: c.Canvas, Rectangle: vg.Rectangle{
			Min: vg.Point{X: left, Y: c.Min.Y}, Max: vg.Point{X: right - 6, Y: c.Max.Y - 46},
		}})
		left = right
	}
}

// legend is one line below the title.
func legend(c draw.Canvas, targets []string) {
	style := plot.New().Legend.TextStyle
	style.Font = font.From(style.Font, 9)
	style.YAlign = draw.YCenter
	at := vg.Point{X: c.Min.X + labelWidth, Y: c.Max.Y - 38}
	for i := range targets {
		name := targets[len(targets)-1-i] // in the order in which they are drawn: ours last
		g := glyph(name)
		g.Radius = 3.5
		c.DrawGlyph(g, at)
		c.FillText(style, vg.Point{X: at.X + 7, Y: at.Y}, name)
		at.X += style.Width(name) + 26
	}
}

func writePicture(path string, w, h vg.Length, paint func(draw.Canvas)) error {
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	defer func() { _ = f.Close() }()
	switch ext := strings.ToLower(filepath.Ext(path)); ext {
	case ".svg":
		c := vgsvg.New(w, h)
		background(draw.New(c), paint)
		_, err = c.WriteTo(f)
	case ".png":
		c := vgimg.PngCanvas{Canvas: vgimg.NewWith(vgimg.UseWH(w, h), vgimg.UseDPI(144))}
		background(draw.New(c), paint)
		_, err = c.WriteTo(f)
	default:
		err = fmt.Errorf("a picture is .svg or .png, not %q", ext)
	}
	return err
}
