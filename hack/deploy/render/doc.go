// Package render writes the objects of package manifests as a kustomization and as
// a Helm chart.
//
// Both come from the same trees: objects as JSON knows them, in which guards stand
// for what only some variants have, and holes for what a chart's user may set. The
// kustomization closes the holes with the defaults and decides the guards; the
// chart writes both as template actions.
package render
