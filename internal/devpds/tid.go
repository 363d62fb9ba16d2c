package devpds

import (
	"time"

	"github.com/bluesky-social/indigo/atproto/syntax"
)

// nextTID is a TID of now that is greater than prev, also where the clock stands
// still or went back: revs rise strictly within a repository.
func nextTID(now time.Time, clockID uint, prev string) string {
	micros := now.UTC().UnixMicro()
	if prev != "" {
		if last := syntax.TID(prev).Time().UnixMicro(); micros <= last {
			micros = last + 1
		}
	}
	return syntax.NewTID(micros, clockID).String()
}
