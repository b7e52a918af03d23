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
		require.True(t, isShown(picture, texts), "%s: no page shows it", picture)
	}
	photographs, err := filepath.Glob("pages/*.png")
	require.NoError(t, err)
	for _, picture := range photographs {
		info, err := os.Stat(picture)
		require.NoError(t, err)
		require.Less(t, info.Size(), int64(300<<10), "%s: everybody who clones the project has it", picture)
		require.True(t, isShown(picture, texts), "%s: no page shows it", picture)
	}
}

// isShown: one of the pages has the picture.
func isShown(picture string, pages map[string]string) bool {
	for name, page := range pages {
		link := filepath.Base(picture)
		if strings.HasSuffix(name, "README.md") {
			link = "cmd/jvsfs/" + picture
		}
		if strings.Contains(page, "]("+link+")") {
			return true
		}
	}
	return false
}
