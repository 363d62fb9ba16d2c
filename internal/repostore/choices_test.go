package repostore

import (
	"math/rand/v2"
	"time"
)

// choices are what a schedule is made of: a list of numbers, drawn from a seed
// and recorded, or replayed. The smaller the numbers and the shorter the list,
// the simpler the schedule; past its end every choice is 0.
type choices struct {
	rng    *rand.Rand // nil: replay
	replay []int
	made   []int
}

func seeded(seed uint64) *choices { return &choices{rng: rand.New(rand.NewPCG(seed, 17))} }

func replayed(list []int) *choices { return &choices{replay: list} }

// pick chooses one of n.
func (c *choices) pick(n int) int {
	v := 0
	switch {
	case c.rng != nil:
		v = c.rng.IntN(n)
	case len(c.made) < len(c.replay):
		v = min(c.replay[len(c.made)], n-1)
	}
	c.made = append(c.made, v)
	return v
}

// shrink looks for a simpler list that fails still, for a while.
func shrink(list []int, fails func([]int) bool, atMost time.Duration) []int {
	end := time.Now().Add(atMost)
	try := func(candidate []int) bool {
		if time.Now().After(end) || !fails(candidate) {
			return false
		}
		list = candidate
		return true
	}
	for again := true; again && time.Now().Before(end); {
		again = false
		for size := len(list) / 2; size > 0; size /= 2 {
			for at := len(list) - size; at >= 0; at -= size {
				if at+size > len(list) {
					continue
				}
				without := append(append([]int(nil), list[:at]...), list[at+size:]...)
				again = try(without) || again
			}
		}
		for i := range list {
			for _, v := range []int{0, list[i] / 2, list[i] - 1} {
				if v >= 0 && v < list[i] {
					smaller := append([]int(nil), list...)
					smaller[i] = v
					if try(smaller) {
						again = true
						break
					}
				}
			}
		}
	}
	return list
}
