// Package kcp sets up a provider workspace on a real kube-apiserver that has the kinds of
// kcp, with schemas that let everything pass but what the tests need. What kcp's own
// controllers would do, the tests do. It has a plane of its own, since it takes the
// APIService away: CustomResourceDefinitions made of our schemas serve the group instead.
package kcp
