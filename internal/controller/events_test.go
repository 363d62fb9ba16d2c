package controller

import (
	"strings"
	"testing"
)

// What a fulfiller says may be as long as an Event's note: the record is named all the same.
func TestNote(t *testing.T) {
	const uri = "at://did:web:a.example/computer.socialweb.infra/web"
	for _, c := range []struct {
		change phaseChange
		uri    string
		want   string
	}{
		{phaseChange{"web", "Requesting", "Deployed", ""}, uri, "contract web is Deployed, was Requesting (" + uri + ")"},
		{phaseChange{"", "", "Staged", ""}, "", "deployment is Staged"},
		{phaseChange{"web", "", "Failed", "no bids"}, "", "contract web is Failed: no bids"},
	} {
		if got := c.change.note(c.uri); got != c.want {
			t.Errorf("got %q, want %q", got, c.want)
		}
	}
	for n := range 4 {
		got := phaseChange{"web" + strings.Repeat("b", n), "", "Failed", strings.Repeat("é", 512)}.note(uri)
		if len(got) > maxNote || len(got) < maxNote-1 || !strings.HasSuffix(got, "é ("+uri+")") {
			t.Errorf("%d bytes: %q", len(got), got)
		}
	}
	if got := (phaseChange{"web", "", "Failed", "m"}).note("at://" + strings.Repeat("a", 2000)); len(got) != maxNote {
		t.Errorf("%d bytes", len(got))
	}
}
