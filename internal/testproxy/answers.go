package testproxy

// AwaitAnswers waits until no request of the methods (NSIDs) is on its way any more. After
// Set, what comes of them then was asked under the fault: one that had come before could
// still be passed on.
func (p *Proxy) AwaitAnswers(methods ...string) {
	for {
		p.mu.Lock()
		open, answered := 0, p.answered
		for _, m := range methods {
			open += p.open[m]
		}
		p.mu.Unlock()
		if open == 0 {
			return
		}
		<-answered
	}
}

// end of a request that take has counted.
func (p *Proxy) end(method string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.open[method]--
	close(p.answered)
	p.answered = make(chan struct{})
}
