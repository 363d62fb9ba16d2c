// Package monitoring checks artifacts/monitoring: it evaluates the alert rules with
// Prometheus' own engine as their tests in rules_test.yaml say, and checks each
// expression of the rules and of the dashboard against metrics.txt.
//
// It is a module of its own, so that what Prometheus needs isn't ours. promtool could
// run rules_test.yaml too, but is four times as large: it is built from every service
// discovery that Prometheus knows.
package monitoring
