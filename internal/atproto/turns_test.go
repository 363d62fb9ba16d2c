package atproto

import (
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// queue is turns whose requests have names: their account's, with ' for upkeep.
type queue struct {
	turns
	names map[*waiter]string
}

func newQueue() *queue { return &queue{names: map[*waiter]string{}} }

func (q *queue) add(name string, l line) *waiter {
	w := q.turns.add(name, l, time.Time{})
	q.names[w] = name
	if l == upkeep {
		q.names[w] += "'"
	}
	return w
}

func (q *queue) addAll(name string, l line, n int) {
	for range n {
		q.add(name, l)
	}
}

func (q *queue) take() string {
	w := q.pop()
	defer delete(q.names, w)
	return q.names[w]
}

func TestTurnsGoRound(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		do   func(*queue)
		want string
	}{
		"one account": {func(q *queue) { q.addAll("a", bulk, 3) }, "a a a"},
		"two accounts": {func(q *queue) {
			q.addAll("a", bulk, 2)
			q.addAll("b", bulk, 2)
		}, "a b a b"},
		"one that comes late goes next": {func(q *queue) {
			q.addAll("a", bulk, 5)
			q.take()
			q.add("b", bulk)
		}, "b a a a a"},
		"one that comes within a round waits for the rest of it": {func(q *queue) {
			q.addAll("a", bulk, 3)
			q.addAll("b", bulk, 3)
			q.addAll("c", bulk, 3)
			q.take()
			q.addAll("d", bulk, 2)
		}, "b c d a b c d a b c"},
		"leaving and coming again gains nothing": {func(q *queue) {
			q.add("a", bulk)
			q.addAll("b", bulk, 3)
			q.addAll("c", bulk, 3)
			q.take()
			q.add("a", bulk)
		}, "b c a b c b c"},
		"upkeep and the rest of an account take turns": {func(q *queue) {
			q.addAll("a", bulk, 4)
			q.addAll("a", upkeep, 2)
			q.addAll("b", bulk, 2)
		}, "a b a' b a a' a a"},
		"a turn that isn't taken is that of the account's next request": {func(q *queue) {
			q.add("a", bulk)
			w := q.add("b", bulk)
			q.add("b", bulk)
			q.add("c", bulk)
			q.remove(w)
		}, "a b c"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			q := newQueue()
			tc.do(q)
			var got []string
			for q.waiting > 0 {
				got = append(got, q.take())
			}
			if got := strings.Join(got, " "); got != tc.want {
				t.Errorf("the turns went to\n%s, want\n%s", got, tc.want)
			}
			if q.flows != nil || q.now != 0 {
				t.Errorf("kept although nothing waits: %+v", q.turns)
			}
		})
	}
}

// TestTurnsAreFair: whatever comes and goes, of two accounts that wait all the time
// neither takes two turns more than the other; what is foretold of a request holds; and
// of those that don't wait only such are known as had a turn in the last round.
func TestTurnsAreFair(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		q := newQueue()
		q.addAll("x", bulk, 100)
		q.addAll("y", bulk, 100)
		had := map[string]int{}
		for range rapid.IntRange(1, 100).Draw(t, "steps") {
			name := rapid.StringMatching("[a-h]").Draw(t, "account")
			l := line(rapid.IntRange(0, 1).Draw(t, "line"))
			switch rapid.IntRange(0, 3).Draw(t, "do") {
			case 0, 1:
				ahead := q.ahead(name, l)
				if w := q.add(name, l); q.aheadOf(w) != ahead {
					t.Fatalf("%d turns were to be ahead, and %d are", ahead, q.aheadOf(w))
				}
			case 2:
				if f := q.flows[name]; f != nil && len(f.lines[l]) > 0 {
					w := f.lines[l][0]
					q.remove(w)
					delete(q.names, w)
				}
			default:
				had[q.take()]++
			}
			if d := had["x"] - had["y"]; d < -1 || d > 1 {
				t.Fatalf("of two that wait one has taken %d turns more", d)
			}
			for name, f := range q.flows {
				if f.waiting() == 0 && f.due > q.now+turn {
					t.Fatalf("%s will be taken for greedy for longer than a round", name)
				}
			}
		}
		foretold := map[int]*waiter{}
		for w := range q.names {
			foretold[q.aheadOf(w)] = w
		}
		for i := range q.waiting {
			if w := q.pop(); foretold[i] != w {
				t.Fatalf("turn %d was to be that of %s, and is that of %s", i, q.names[foretold[i]], q.names[w])
			}
		}
		if len(q.flows) > 0 {
			t.Fatalf("kept although nothing waits: %+v", q.turns)
		}
	})
}
