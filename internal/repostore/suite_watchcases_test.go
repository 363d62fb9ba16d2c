package repostore

import (
	"context"
	"testing"
	"time"

	st "k8s.io/apiserver/pkg/storage/testing"
)

// watchCases are the functions of watcher_tests.go.
func watchCases() []suiteCase {
	created := suiteOptions{created: true}
	return []suiteCase{
		{function: "RunTestWatch", run: plain(st.RunTestWatch)},
		{function: "RunTestWatchFromZero", notCached: cacheHistory, run: func(ctx context.Context, t *testing.T, r suiteRun) {
			st.RunTestWatchFromZero(ctx, t, r.s, r.compact)
		}},
		{function: "RunTestWatchFromZero", variant: "up to the compaction",
			note: "go test shows it as skipped: upstream says so when all before that step has passed", notRaw: "the whole case runs raw", run: func(ctx context.Context, t *testing.T, r suiteRun) {
				st.RunTestWatchFromZero(ctx, t, r.s, nil)
			}},
		{function: "RunTestDeleteTriggerWatch", run: plain(st.RunTestDeleteTriggerWatch)},
		{function: "RunTestWatchFromNonZero", run: plain(st.RunTestWatchFromNonZero)},
		{function: "RunTestDelayedWatchDelivery", run: func(ctx context.Context, t *testing.T, r suiteRun) {
			st.RunTestDelayedWatchDelivery(ctx, t, &delayed{suiteStore: r.s, t: t})
		}},
		{function: "RunTestWatchError", notCached: cacheDecoded, run: func(ctx context.Context, t *testing.T, r suiteRun) { st.RunTestWatchError(ctx, t, r.s) }},
		{function: "RunTestWatchWithUnsafeDelete", notCached: cacheDecoded, before: allowUnsafeDeletion, run: func(ctx context.Context, t *testing.T, r suiteRun) {
			st.RunTestWatchWithUnsafeDelete(ctx, t, r.s, corruptError(t))
		}},
		{function: "RunTestWatchContextCancel", run: plain(st.RunTestWatchContextCancel)},
		{function: "RunTestWatcherTimeout", run: plain(st.RunTestWatcherTimeout)},
		{function: "RunTestWatchDeleteEventObjectHaveLatestRV", run: plain(st.RunTestWatchDeleteEventObjectHaveLatestRV)},
		{function: "RunTestWatchInitializationSignal", run: func(ctx context.Context, t *testing.T, r suiteRun) {
			st.RunTestWatchInitializationSignal(ctx, t, unhurried{r.s, t})
		}},
		{function: "RunOptionalTestProgressNotify", options: suiteOptions{progressNotify: time.Second}, notCached: cacheProgress,
			run: func(ctx context.Context, t *testing.T, r suiteRun) {
				st.RunOptionalTestProgressNotify(ctx, t, r.s, r.increaseRV)
			}},
		{function: "RunTestClusterScopedWatch", options: suiteOptions{indexed: true, clusterScoped: true}, run: plain(st.RunTestClusterScopedWatch)},
		{function: "RunTestNamespaceScopedWatch", options: suiteOptions{indexed: true}, run: plain(st.RunTestNamespaceScopedWatch)},
		{function: "RunTestWatchDispatchBookmarkEvents", options: suiteOptions{progressNotify: time.Second},
			run: func(ctx context.Context, t *testing.T, r suiteRun) {
				st.RunTestWatchDispatchBookmarkEvents(ctx, t, &bookmarked{unhurried: unhurried{r.s, t}, awaited: true}, r.cached)
			}},
		{function: "RunTestOptionalWatchBookmarksWithCorrectResourceVersion", notRaw: stockBookmarks, run: func(ctx context.Context, t *testing.T, r suiteRun) {
			st.RunTestOptionalWatchBookmarksWithCorrectResourceVersion(ctx, t, &bookmarked{unhurried: unhurried{r.s, t}})
		}},
		{function: "RunSendInitialEventsBackwardCompatibility", run: plain(st.RunSendInitialEventsBackwardCompatibility)},
		{function: "RunWatchSemantics", options: created, run: plain(st.RunWatchSemantics)},
		{function: "RunWatchSemanticInitialEventsExtended", options: created, run: plain(st.RunWatchSemanticInitialEventsExtended)},
		{function: "RunWatchListMatchSingle", options: created, run: plain(st.RunWatchListMatchSingle)},
		{function: "RunWatchErrorIsBlockingFurtherEvents", notCached: cacheDecoded, run: func(ctx context.Context, t *testing.T, r suiteRun) {
			st.RunWatchErrorIsBlockingFurtherEvents(ctx, t, r.s)
		}},
	}
}
