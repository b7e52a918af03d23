package main

import (
	"encoding/xml"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// Each picture can be drawn, brings its own background (pages are read on white and on black), says in words what
// it shows unless its page does, and stands on a page.
func TestPicturesAreShown(t *testing.T) {
	pictures, err := filepath.Glob("pages/*.svg")
	require.NoError(t, err)
	require.NotEmpty(t, pictures)
	texts := map[string]string{}
	pages, err := filepath.Glob("pages/*.md")
	require.NoError(t, err)
	for _, name := range append(pages, "../../README.md") {
		text, err := os.ReadFile(name)
		require.NoError(t, err)
		texts[name] = string(text)
	}
	for _, picture := range pictures {
		text, err := os.ReadFile(picture)
		require.NoError(t, err)
		require.True(t, strings.HasPrefix(string(text), "<svg "), picture)
		require.Contains(t, string(text), "viewBox=", picture)
		require.Regexp(t, `<rect width="(100%|\d+)" height="(100%|\d+)"[^>]* fill="#`, string(text), "%s: its background", picture)
		for d := xml.NewDecoder(strings.NewReader(string(text))); ; {
			if _, err := d.Token(); errors.Is(err, io.EOF) {
				break
			} else {
				require.NoError(t, err, picture)
			}
		}
		shown := false
		for name, page := range texts {
			link := filepath.Base(picture)
			if strings.HasSuffix(name, "README.md") {
				link = "cmd/jvsfs/" + picture
			}
			shown = shown || strings.Contains(page, "]("+link+")")
		}
		require.True(t, shown, "%s: no page shows it", picture)
	}
}
