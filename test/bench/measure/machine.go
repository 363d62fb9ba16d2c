package measure

import (
	"fmt"
	"os"
	"runtime"
	"strings"
	"time"
)

// Machine says on which day and machine it is measured, and how busy that is. It is
// called before anything starts, so that the load is what others make of it.
func Machine() string {
	out := fmt.Sprintf("%s: %s, %d cores", time.Now().UTC().Format(time.DateOnly), runtime.Version(), runtime.NumCPU())
	if data, err := os.ReadFile("/proc/loadavg"); err == nil { // on Linux alone
		if load := strings.Fields(string(data)); len(load) > 0 {
			out += fmt.Sprintf(" (load %s before it began)", load[0])
		}
	}
	return out
}
