package apiserver

import (
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	testingclock "k8s.io/utils/clock/testing"
)

// Clients are asked to connect anew from the middle of the delay on, not before.
func TestSendAway(t *testing.T) {
	clk := testingclock.NewFakePassiveClock(time.Now())
	ending := make(chan struct{})
	handler := sendAway(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNoContent) }), ending, 5*time.Second, clk)
	ask := func(when, want string) {
		t.Helper()
		w := httptest.NewRecorder()
		handler.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/apis", http.NoBody))
		if got := w.Header().Get("Connection"); got != want || w.Code != http.StatusNoContent {
			t.Errorf("%s: Connection %q, want %q; status %d", when, got, want, w.Code)
		}
	}
	ask("running", "")
	clk.SetTime(clk.Now().Add(time.Hour))
	ask("after an hour", "")
	close(ending)
	ask("told to end", "")
	clk.SetTime(clk.Now().Add(5*time.Second - 1))
	ask("shortly before", "")
	clk.SetTime(clk.Now().Add(1))
	ask("half of the delay later", "close")
}

func TestShutdownOptionsSayWhatIsWrong(t *testing.T) {
	if errs := (&ShutdownOptions{Delay: -1, WatchGrace: -1}).check(); len(errs) != 2 {
		t.Errorf("%v", errs)
	}
	o := GracefulShutdown()
	if errs := o.check(); len(errs) > 0 {
		t.Errorf("%v", errs)
	}
}
