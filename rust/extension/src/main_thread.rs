//! How calls reach the main thread: a bounded queue, two lanes, and the sleep that a call can end.
//!
//! An idle editor sleeps up to 100 ms a frame, and that sleep cannot be woken. So the frame hook
//! sleeps for it: same deadline, same idle cost, but on a condition variable. The engine's own
//! value is remembered and put back when the server stops.

use std::cell::{Cell, Ref, RefCell};
use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use godot::classes::{CanvasItem, DisplayServer, EditorInterface, Os, ProjectSettings};
use godot::obj::{Gd, InstanceId, Singleton};
use godot_mcp_core::approval::{Grant, Proposal};
use godot_mcp_core::call::{LogSink, Peer, ProgressSink, Waited, WaitedSlot};
use godot_mcp_core::gate::Admitted;
use godot_mcp_core::journal::Ticket;
use godot_mcp_core::lease::SceneLease;
use godot_mcp_core::spec::TabUse;
use godot_mcp_core::{Answer, CancelFlag, Code, SafetyClass, Site, ToolError, ToolSpec};
use parking_lot::{Condvar, Mutex};
use serde_json::{Map, Value, json};
use tokio::runtime::Handle;
use tokio::sync::oneshot;

use crate::api::saves;
use crate::app::{self, App, Glance};
use crate::dispatch;
use crate::editor::{Editor, log_feed, resource_watch, scene_keeper};
use crate::extensions;
use crate::host_node::drain_log;
use crate::tool::Outcome;

/// Calls that may wait; one more is answered `BUSY`.
pub(crate) const CAPACITY: usize = 256;
/// Time for jobs in one frame, so the editor stays fluid. One long job may exceed it.
const BUDGET: Duration = Duration::from_millis(4);
const HEADLESS_BUDGET: Duration = Duration::from_millis(12);
/// Longest sleep while something is asked once a frame.
const POLL_PERIOD: Duration = Duration::from_millis(2);
/// Age after which the look at the editor is refreshed, while calls come in and else.
const GLANCE_PERIOD: Duration = Duration::from_millis(50);
const IDLE_GLANCE_PERIOD: Duration = Duration::from_millis(250);
/// Time after the last call from which on the editor counts as idle.
const IDLE_AFTER: Duration = Duration::from_secs(2);

const LEASE_SETTING: &str = "mcp_toolkit/concurrency/scene_lease_ttl_ms";
const LEASE_TIME: Duration = Duration::from_secs(8);
/// Less than calls wait by default, so that none times out over it.
const LONGEST_LEASE: Duration = Duration::from_secs(20);

/// One admitted call on its way to the main thread.
pub(crate) struct Job {
    pub(crate) call: Admitted,
    /// Its entry in the journal; none for reads and previews.
    pub(crate) ticket: Option<Ticket>,
    /// What a human said to the plan before.
    pub(crate) grant: Option<Grant>,
    pub(crate) peer: Peer,
    pub(crate) turn: Turn,
    pub(crate) moves: Vec<TabMove>,
    pub(crate) cancel: CancelFlag,
    pub(crate) deadline: Instant,
    pub(crate) progress: Option<ProgressSink>,
    pub(crate) log: Option<LogSink>,
    /// Of the I/O thread, for a batch whose entries need it.
    pub(crate) runtime: Option<Handle>,
    pub(crate) reply: oneshot::Sender<Finished>,
    pub(crate) id: u64,
    pub(crate) within: Within,
}

/// How a job came to its turn, for whoever waits for it.
pub(crate) struct Turn {
    waited: WaitedSlot,
    queued: Instant,
    held_by: Option<Hold>,
}

impl Turn {
    pub(crate) fn new(waited: WaitedSlot) -> Self {
        Self { waited, queued: Instant::now(), held_by: None }
    }

    /// It has come, or never will.
    fn tell(&mut self) {
        let Some(hold) = self.held_by.take() else { return };
        let queued_ms = u64::try_from(self.queued.elapsed().as_millis()).unwrap_or(u64::MAX);
        let (reason, holder_scene) = match hold {
            Hold::Scan => ("scan", None),
            Hold::Edit => ("mutation_lock", None),
            Hold::Scene(scene) => ("scene_lease", Some(scene)),
        };
        // A call that a human was asked about is queued twice, and tells of the first time.
        let _ = self.waited.set(Waited { queued_ms, reason, holder_scene });
    }
}

/// A tab that a job brings to the front or closes.
pub(crate) struct TabMove {
    how: TabUse,
    /// `res://` path; empty for the scene in front.
    scene: String,
}

impl TabMove {
    /// Of a call of a tool with this spec.
    pub(crate) fn of(spec: &ToolSpec, args: &Map<String, Value>) -> Option<Self> {
        let scene = args.get("scene_path").and_then(Value::as_str).unwrap_or_default();
        matches!(spec.tab, TabUse::Opens | TabUse::Closes)
            .then(|| Self { how: spec.tab, scene: scene.to_owned() })
    }
}

/// What keeps a job from starting.
#[derive(Clone, Debug, PartialEq)]
enum Hold {
    /// The file system scans or imports.
    Scan,
    /// An edit that is not over.
    Edit,
    /// Another client works in this scene, whose tab is in front.
    Scene(String),
}

/// A call that waits for one that it made.
#[derive(Clone)]
pub(crate) struct Link {
    pub(crate) id: u64,
    pub(crate) tool: String,
}

/// The calls that wait for one, the outermost first.
pub(crate) type Within = Arc<[Link]>;

/// What comes back from the main thread.
pub(crate) enum Finished {
    Answer(Answer),
    /// A human has to agree first; the call is given back for then.
    Ask(Box<Admitted>, Box<Proposal>),
}

impl Job {
    pub(crate) fn new_id() -> u64 {
        static LAST: AtomicU64 = AtomicU64::new(0);
        LAST.fetch_add(1, Ordering::Relaxed)
    }

    fn is_edit(&self) -> bool {
        let spec = self.call.spec();
        spec.class != SafetyClass::ReadOnly || spec.exclusive
    }

    fn is_safe_lane(&self) -> bool {
        self.call.spec().site == Site::SafeLane
    }

    pub(crate) fn answer(mut self, answer: Answer) {
        self.turn.tell();
        // The caller may have gone away; the answer then has no reader.
        let _ = self.reply.send(Finished::Answer(answer));
    }

    /// Whether it goes on without its caller: what has begun to change things is finished, and a
    /// call with a key is collected by it (S2.5).
    fn outlives_its_caller(&self) -> bool {
        let spec = self.call.spec();
        let has_begun = self.ticket.is_some()
            && (spec.class != SafetyClass::Runtime || self.call.idempotency_key.is_some());
        // What an exclusive handler does goes on as well, and must not run beside a change.
        has_begun || spec.exclusive
    }

    /// Why the job must not start any more.
    pub(crate) fn overdue(&self) -> Option<ToolError> {
        let why = expired(&self.cancel, self.deadline, "its turn came; it has not run")?;
        Some(why.details(json!({"may_have_applied": false, "started": false})))
    }
}

fn expired(cancel: &CancelFlag, deadline: Instant, before: &str) -> Option<ToolError> {
    if cancel.is_cancelled() {
        return Some(ToolError::new(Code::Cancelled, "the caller cancelled"));
    }
    if Instant::now() >= deadline {
        let message = format!("the deadline passed before {before}");
        return Some(
            ToolError::new(Code::Timeout, message)
                .hint("`health_check` says what the editor is busy with"),
        );
    }
    None
}

/// Jobs that wait. Reads pass edits; edits keep their order.
#[derive(Default)]
pub(crate) struct Queue {
    jobs: Mutex<Jobs>,
    arrived: Condvar,
    /// How many wait: lets an idle frame pass without the lock.
    waiting: AtomicUsize,
    /// Calls that wait for a service which the editor polls once a frame.
    hurries: AtomicUsize,
}

/// While it lives, the main thread takes its next frame soon.
pub(crate) struct Hurry<'a>(&'a Queue);

impl Drop for Hurry<'_> {
    fn drop(&mut self) {
        self.0.hurries.fetch_sub(1, Ordering::AcqRel);
    }
}

#[derive(Default)]
struct Jobs {
    reads: VecDeque<Job>,
    edits: VecDeque<Job>,
    /// Made by calls that are not over, so they cannot wait in line behind others.
    nested: VecDeque<Job>,
    closed: bool,
    /// Jobs taken in so far.
    arrivals: u64,
}

impl Queue {
    /// Takes a job from the I/O thread and wakes the main thread.
    pub(crate) fn submit(&self, job: Job) {
        let mut jobs = self.jobs.lock();
        let refusal = if jobs.closed {
            Some(ToolError::new(Code::Busy, "the plugin is being switched off"))
        } else if jobs.reads.len() + jobs.edits.len() + jobs.nested.len() >= CAPACITY {
            Some(
                ToolError::new(Code::Busy, format!("{CAPACITY} calls are waiting already"))
                    .hint("wait for answers before sending more"),
            )
        } else {
            None
        };
        if let Some(refusal) = refusal {
            drop(jobs);
            return job.answer(Err(refusal));
        }
        jobs.arrivals += 1;
        self.waiting.fetch_add(1, Ordering::Release);
        if !job.within.is_empty() {
            jobs.nested.push_back(job);
        } else if job.is_edit() {
            jobs.edits.push_back(job);
        } else {
            jobs.reads.push_back(job);
        }
        self.arrived.notify_one();
    }

    /// Shortens the sleeps of the main thread, the one it is in included.
    pub(crate) fn hurry(&self) -> Hurry<'_> {
        self.hurries.fetch_add(1, Ordering::AcqRel);
        self.jobs.lock().arrivals += 1;
        self.arrived.notify_one();
        Hurry(self)
    }

    pub(crate) fn close(&self) {
        self.jobs.lock().closed = true;
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.waiting.load(Ordering::Acquire) == 0
    }

    /// The next job for a lane. One that only waits for a tab does not hold up those behind it.
    fn next(&self, safe_lane: bool, lock: &Lock) -> Option<Job> {
        let mut jobs = self.jobs.lock();
        let fits = |job: &Job| safe_lane || !job.is_safe_lane();
        let free = |job: &Job| fits(job) && lock.hold(job).is_none();
        let job = if let Some(index) = jobs.nested.iter().position(free) {
            jobs.nested.remove(index)
        } else if let Some(index) = jobs.reads.iter().position(fits) {
            jobs.reads.remove(index)
        } else {
            let index = jobs.edits.iter_mut().position(|job| {
                job.turn.held_by = lock.hold(job).or(job.turn.held_by.take());
                !matches!(lock.hold(job), Some(Hold::Scene(_)))
            });
            match index {
                Some(index) if free(&jobs.edits[index]) => jobs.edits.remove(index),
                _ => None,
            }
        };
        self.left(usize::from(job.is_some()));
        job
    }

    fn left(&self, count: usize) {
        self.waiting.fetch_sub(count, Ordering::Release);
    }

    /// Takes out jobs whose caller went away or whose deadline passed while they waited.
    fn sweep(&self) {
        if self.is_empty() {
            return;
        }
        let mut jobs = self.jobs.lock();
        let mut out = take_overdue(&mut jobs.reads);
        out.extend(take_overdue(&mut jobs.edits));
        out.extend(take_overdue(&mut jobs.nested));
        self.left(out.len());
        drop(jobs);
        for (job, why) in out {
            job.answer(Err(why));
        }
    }

    fn drain(&self) -> Vec<Job> {
        let mut jobs = self.jobs.lock();
        let mut all: Vec<Job> = jobs.reads.drain(..).collect();
        all.extend(jobs.edits.drain(..));
        all.extend(jobs.nested.drain(..));
        self.left(all.len());
        all
    }

    /// Whether the safe lane has something that may start.
    fn has_safe_work(&self, lock: &Lock) -> bool {
        let jobs = self.jobs.lock();
        let may = |job: &Job| job.is_safe_lane() && lock.hold(job).is_none();
        let first = jobs.edits.iter().find(|it| !matches!(lock.hold(it), Some(Hold::Scene(_))));
        jobs.reads.iter().any(Job::is_safe_lane)
            || first.is_some_and(may)
            || jobs.nested.iter().any(may)
    }

    fn arrivals(&self) -> u64 {
        self.jobs.lock().arrivals
    }

    /// Sleeps until the deadline or until a job arrives after `seen`. True when one has.
    fn wait_for_arrival(&self, seen: u64, deadline: Instant) -> bool {
        let mut jobs = self.jobs.lock();
        while jobs.arrivals == seen {
            if self.arrived.wait_until(&mut jobs, deadline).timed_out() {
                return jobs.arrivals != seen;
            }
        }
        true
    }
}

/// What keeps jobs from starting.
#[derive(Default)]
struct Lock<'a> {
    scanning: bool,
    /// Edits that are not over.
    holders: Vec<u64>,
    tab: Option<Tab<'a>>,
}

/// The tab in front, and who works there.
struct Tab<'a> {
    lease: Ref<'a, SceneLease>,
    scene: String,
    time: Duration,
}

impl Lock<'_> {
    /// Edits run one at a time; what a running edit calls is part of it.
    fn hold(&self, job: &Job) -> Option<Hold> {
        let is_inside = |holder: &u64| job.within.iter().any(|it| it.id == *holder);
        if !job.is_edit() {
            return None;
        }
        if let Some(tab) = self.tab.as_ref().filter(|it| it.keeps_out(job)) {
            return Some(Hold::Scene(tab.scene.clone()));
        }
        if self.scanning {
            return Some(Hold::Scan);
        }
        (!self.holders.iter().all(is_inside)).then_some(Hold::Edit)
    }

    fn is_free(&self) -> bool {
        !self.scanning && self.holders.is_empty()
    }
}

impl Tab<'_> {
    /// Whether a job would take the tab from a client that works there (X10.3).
    fn keeps_out(&self, job: &Job) -> bool {
        // What a running call calls is part of it, and a preview moves nothing.
        if self.scene.is_empty() || !job.within.is_empty() || job.call.dry_run {
            return false;
        }
        let takes_it = job.moves.iter().any(|it| match it.how {
            TabUse::Stays | TabUse::Apart => false,
            TabUse::Opens => it.scene != self.scene,
            TabUse::Closes => it.scene.is_empty() || it.scene == self.scene,
        });
        let since = job.turn.queued;
        takes_it && self.lease.keeps(&self.scene, &job.peer, since, Instant::now(), self.time)
    }
}

/// How long a client keeps a tab after its last call, while another wants another one.
fn lease_time() -> Duration {
    let set = ProjectSettings::singleton().get_setting_ex(LEASE_SETTING).done().try_to::<i64>();
    let msec = set.ok().and_then(|it| u64::try_from(it).ok());
    msec.map_or(LEASE_TIME, |it| Duration::from_millis(it).min(LONGEST_LEASE))
}

fn take_overdue(jobs: &mut VecDeque<Job>) -> Vec<(Job, ToolError)> {
    let mut out = Vec::new();
    for job in std::mem::take(jobs) {
        match job.overdue() {
            Some(why) => out.push((job, why)),
            None => jobs.push_back(job),
        }
    }
    out
}

/// A call that is asked once a frame until it answers.
struct Pending {
    job: Job,
    poll: Box<dyn FnMut(&Editor) -> Option<Answer>>,
}

/// State of the main thread's side. Interior mutability, since nested frames enter it again.
#[derive(Default)]
pub(crate) struct Pump {
    /// True while a job is on the stack: then nested iterations run nothing.
    running: Cell<bool>,
    /// `process` calls minus hook calls: above 1 in the hook, the iteration is a nested one.
    depth: Cell<u32>,
    pending: RefCell<Vec<Pending>>,
    /// The engine's own sleep, remembered while ours replaces it.
    engine_sleep_usec: Cell<Option<i32>>,
    frame_end: Cell<Option<Instant>>,
    glanced: Cell<Option<Instant>>,
    last_job: Cell<Option<Instant>>,
    /// Whether the engine's sleep paces the loop, as it was at the last glance.
    paced_by_sleep: Cell<bool>,
    lease: RefCell<SceneLease>,
    /// Whether the job that runs has worked in the edited scene.
    scene_used: Cell<bool>,
    /// Outer none: not looked for yet. Inner none: this editor has none.
    progress_dialog: RefCell<Option<Option<InstanceId>>>,
}

/// Entry from the engine, once an iteration, just before its sleep.
pub(crate) fn on_frame() {
    if let Some(app) = app::current() {
        app.pump.frame(&app);
    }
}

/// Entry from the host node's `process`: the safe lane.
pub(crate) fn on_process() {
    if let Some(app) = app::current() {
        app.pump.process(&app);
    }
}

impl Pump {
    fn frame(&self, app: &Rc<App>) {
        let depth = self.depth.get();
        self.depth.set(depth.saturating_sub(1));
        app.shared.heartbeat.beat();
        if self.running.get() || depth > 1 {
            return;
        }
        self.look(app);
        if resource_watch::is_needed(app) {
            // Runs no job, but asks the editor things that a job may ask too.
            let looked = self.guarded("resources", || {
                resource_watch::look(app);
                Ok(())
            });
            if let Err(error) = looked {
                tracing::error!("{error}");
            }
        }
        let queue = &app.shared.queue;
        queue.sweep();
        let period = self.take_over_sleep();
        let start = Instant::now();
        let last_end = self.frame_end.get().unwrap_or(start);
        let mut deadline = period.map_or(start, |it| last_end + it);
        let budget = if app.shared.headless { HEADLESS_BUDGET } else { BUDGET };
        let mut spent = Duration::ZERO;
        loop {
            let seen = queue.arrivals();
            if !queue.is_empty() {
                if self.progress_dialog_is_open() {
                    break;
                }
                // A job may have become one that waits, and then holds the lock.
                while spent < budget
                    && let Some(job) = self.next(queue, false)
                {
                    let begun = Instant::now();
                    self.run(app, job);
                    spent += begun.elapsed();
                }
                // What is left then needs the next iteration, which starts at once.
                if spent >= budget || queue.has_safe_work(&self.lock()) {
                    break;
                }
            }
            if !self.pending.borrow().is_empty()
                || !app.saves.is_idle()
                || queue.hurries.load(Ordering::Acquire) > 0
            {
                deadline = deadline.min(start + POLL_PERIOD);
            }
            if Instant::now() >= deadline || !queue.wait_for_arrival(seen, deadline) {
                break;
            }
        }
        self.frame_end.set(Some(Instant::now()));
    }

    fn process(&self, app: &Rc<App>) {
        self.depth.set(self.depth.get() + 1);
        let queue = &app.shared.queue;
        let playing = app.shared.glance.load().playing;
        let turned = app.extensions.has_turned(playing);
        let idle = queue.is_empty()
            && self.pending.borrow().is_empty()
            && app.saves.is_idle()
            && !app.extensions.is_due()
            && !app.extensions.wants_scan()
            && app.extensions.nested.is_idle()
            && !turned
            && !scene_keeper::has_deferred();
        if idle || self.running.get() || self.depth.get() > 1 || self.progress_dialog_is_open() {
            return;
        }
        // What undo and redo left for a moment at which scenes may be opened and closed.
        while match self.guarded("undo", || Ok(scene_keeper::do_deferred())) {
            Ok(more) => more,
            Err(error) => {
                tracing::error!("{error}");
                true
            }
        } {}
        app.extensions.scan();
        if app.extensions.is_due()
            && let Err(error) = self.guarded("extensions", || Ok(extensions::refresh(app)))
        {
            tracing::error!("{error}");
        }
        if !app.saves.is_idle()
            && let Err(error) = self.guarded("save", || {
                saves::work(app);
                Ok(())
            })
        {
            tracing::error!("{error}");
        }
        if turned
            && let Err(error) = self.guarded("events", || {
                extensions::tell_turn(app, playing);
                Ok(())
            })
        {
            tracing::error!("{error}");
        }
        if !app.extensions.nested.is_idle()
            && let Err(error) = self.guarded("tools", || {
                app.extensions.nested.work();
                Ok(())
            })
        {
            tracing::error!("{error}");
        }
        self.poll_pending(app);
        let budget = if app.shared.headless { HEADLESS_BUDGET } else { BUDGET };
        let start = Instant::now();
        while start.elapsed() < budget
            && let Some(job) = self.next(queue, true)
        {
            self.run(app, job);
        }
    }

    /// Edits run one at a time, and wait while the file system scans or imports.
    fn lock(&self) -> Lock<'_> {
        let pending = self.pending.borrow();
        let holders = pending.iter().filter(|it| it.job.is_edit()).map(|it| it.job.id).collect();
        let scene = front_scene();
        let tab = (!scene.is_empty()).then(|| Tab {
            lease: self.lease.borrow(),
            scene,
            time: lease_time(),
        });
        Lock { scanning: is_scanning(), holders, tab }
    }

    fn next(&self, queue: &Queue, safe_lane: bool) -> Option<Job> {
        // Let go before the job runs.
        let lock = self.lock();
        queue.next(safe_lane, &lock)
    }

    /// A call has looked at or changed the scene in front.
    pub(crate) fn note_scene_used(&self) {
        self.scene_used.set(true);
    }

    /// The client of a job that has worked in the scene in front, or has put it there, holds its tab.
    fn renew_lease(&self, job: &Job) {
        let used = self.scene_used.take();
        let opens = job.moves.iter().any(|it| it.how == TabUse::Opens);
        let works = used && job.call.spec().tab == TabUse::Stays;
        let scene = front_scene();
        if (opens || works) && !job.call.dry_run && !scene.is_empty() {
            self.lease.borrow_mut().renew(&job.peer, &scene, Instant::now());
        }
    }

    fn run(&self, app: &Rc<App>, mut job: Job) {
        if let Some(why) = job.overdue() {
            return job.answer(Err(why));
        }
        job.turn.tell();
        self.scene_used.set(false);
        let name = job.call.spec().name.clone();
        app.shared.heartbeat.set_busy(format!("tool {name}"));
        let cursor = app.shared.feed.cursor();
        let is_edit = job.is_edit();
        let outcome = self.guarded(&name, || {
            // Who has just subscribed hears of what this call changes.
            resource_watch::follow(app);
            dispatch::run(app, &mut job)
        });
        app.shared.heartbeat.set_busy("");
        // What the call logged is in the feed before its answer arrives.
        drain_log(app);
        if let Some(log) = &job.log {
            log_feed::forward(&app.shared.feed, cursor, log);
        }
        if is_edit {
            resource_watch::suspect();
        }
        self.renew_lease(&job);
        match outcome {
            Ok(Outcome::Done(reply)) => job.answer(Ok(reply)),
            Ok(Outcome::Wait(poll)) => self.pending.borrow_mut().push(Pending { job, poll }),
            Ok(Outcome::Ask(proposal)) => {
                // The caller may have gone away; then nobody is asked.
                let _ = job.reply.send(Finished::Ask(Box::new(job.call), proposal));
            }
            Err(error) => job.answer(Err(error)),
        }
        // A nested iteration may have changed it, and the next job wants to know.
        self.last_job.set(Some(Instant::now()));
        self.look_now(app);
    }

    /// Runs what the human asked for in the dock, as the menu of the editor would.
    pub(crate) fn by_hand<T>(
        &self,
        app: &Rc<App>,
        name: &str,
        work: impl FnOnce(&Editor) -> Result<T, ToolError>,
    ) -> Result<T, ToolError> {
        let busy = self.running.get() || self.depth.get() > 1 || self.progress_dialog_is_open();
        if busy || !self.lock().is_free() {
            return Err(ToolError::new(Code::Busy, "the editor is busy; try again in a moment"));
        }
        let editor = Editor::new(app, None);
        self.guarded(name, || work(&editor))
    }

    /// Whether a job is on the stack.
    pub(crate) fn is_running(&self) -> bool {
        self.running.get()
    }

    fn poll_pending(&self, app: &Rc<App>) {
        let pending = std::mem::take(&mut *self.pending.borrow_mut());
        let mut rest = Vec::new();
        for mut it in pending {
            let cancel = match it.job.outlives_its_caller() {
                true => CancelFlag::default(),
                false => it.job.cancel.clone(),
            };
            // A project command cannot be stopped: dropped, it would run on with nobody to settle it.
            let lasts = it.job.call.spec().outlives_deadline;
            if !lasts && let Some(why) = expired(&cancel, it.job.deadline, "the call could finish")
            {
                let may_have_applied = it.job.is_edit();
                let details = json!({"may_have_applied": may_have_applied, "started": true});
                it.job.answer(Err(why.details(details)));
                continue;
            }
            let name = it.job.call.spec().name.clone();
            let editor = Editor::new(app, it.job.progress.clone());
            self.scene_used.set(false);
            let answer = self.guarded(&name, || (it.poll)(&editor).transpose());
            self.renew_lease(&it.job);
            match answer {
                Ok(None) => rest.push(it),
                Ok(Some(reply)) => it.job.answer(Ok(reply)),
                Err(error) => it.job.answer(Err(error)),
            }
        }
        self.pending.borrow_mut().extend(rest);
    }

    /// Runs one piece of a job: nothing else runs meanwhile, and a panic becomes an answer (S3.5).
    fn guarded<T>(
        &self,
        name: &str,
        work: impl FnOnce() -> Result<T, ToolError>,
    ) -> Result<T, ToolError> {
        let was_running = self.running.replace(true);
        let result = catch_unwind(AssertUnwindSafe(work));
        self.running.set(was_running);
        result.unwrap_or_else(|panic| {
            let text = panic
                .downcast_ref::<String>()
                .map(String::as_str)
                .or_else(|| panic.downcast_ref::<&str>().copied())
                .unwrap_or("no message");
            Err(ToolError::internal(format!("tool \"{name}\" panicked: {text}")))
        })
    }

    /// Makes the engine's sleep ours. The period to sleep for, or none when something else, such as
    /// vsync, paces the loop.
    fn take_over_sleep(&self) -> Option<Duration> {
        let mut os = Os::singleton();
        let wish = os.get_low_processor_usage_mode_sleep_usec();
        if wish != 0 {
            self.engine_sleep_usec.set(Some(wish));
            os.set_low_processor_usage_mode_sleep_usec(0);
        }
        let usec = self.engine_sleep_usec.get()?;
        self.paced_by_sleep.get().then(|| Duration::from_micros(u64::try_from(usec).unwrap_or(0)))
    }

    /// A progress dialog of the human's own runs nested iterations while it is open.
    fn progress_dialog_is_open(&self) -> bool {
        let dialog = *self.progress_dialog.borrow();
        let dialog = match dialog {
            Some(found) => found,
            None => {
                // Looked for once: the search goes through the whole editor. A headless editor
                // prints its progress instead.
                let found = find_progress_dialog();
                *self.progress_dialog.borrow_mut() = Some(found);
                found
            }
        };
        dialog.is_some_and(|it| {
            Gd::<CanvasItem>::try_from_instance_id(it).is_ok_and(|it| it.is_visible())
        })
    }

    fn look(&self, app: &Rc<App>) {
        let busy = self.last_job.get().is_some_and(|it| it.elapsed() < IDLE_AFTER);
        let period = if busy { GLANCE_PERIOD } else { IDLE_GLANCE_PERIOD };
        if self.glanced.get().is_none_or(|it| it.elapsed() >= period) {
            self.look_now(app);
            self.paced_by_sleep.set(
                Os::singleton().is_in_low_processor_usage_mode()
                    || !DisplayServer::singleton().window_can_draw(),
            );
        }
    }

    fn look_now(&self, app: &Rc<App>) {
        self.glanced.set(Some(Instant::now()));
        // Often enough for a reader, seldom enough to cost an idle editor nothing.
        drain_log(app);
        let editor = EditorInterface::singleton();
        let glance = Glance {
            active_scene: editor
                .get_edited_scene_root()
                .map(|it| it.get_scene_file_path().to_string()),
            scanning: is_scanning(),
            playing: editor.is_playing_scene(),
        };
        if **app.shared.glance.load() != glance {
            app.shared.glance.store(Arc::new(glance));
        }
    }

    /// Answers whatever waits and puts the engine's sleep back.
    pub(crate) fn shut_down(&self, queue: &Queue) {
        let pending = std::mem::take(&mut *self.pending.borrow_mut());
        for job in queue.drain().into_iter().chain(pending.into_iter().map(|it| it.job)) {
            job.answer(Err(ToolError::new(Code::Cancelled, "the plugin was switched off")));
        }
        if let Some(usec) = self.engine_sleep_usec.take() {
            Os::singleton().set_low_processor_usage_mode_sleep_usec(usec);
        }
    }
}

/// `res://` path of the scene in front; empty when it has none.
fn front_scene() -> String {
    let root = EditorInterface::singleton().get_edited_scene_root();
    root.map(|it| it.get_scene_file_path().to_string()).unwrap_or_default()
}

fn find_progress_dialog() -> Option<InstanceId> {
    let base = EditorInterface::singleton().get_base_control()?;
    let found = base.find_children_ex("*").type_("ProgressDialog").owned(false).done();
    found.get(0).map(|it| it.instance_id())
}

pub(crate) fn is_scanning() -> bool {
    EditorInterface::singleton().get_resource_filesystem().is_some_and(|it| it.is_scanning())
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use godot_mcp_core::Reply;
    use godot_mcp_core::call::Visit;
    use godot_mcp_core::gate::{Gate, GateSettings};
    use godot_mcp_core::paths::Roots;
    use godot_mcp_core::registry::Registry;
    use proptest::prelude::*;

    use super::*;

    fn gate() -> Gate {
        let settings = GateSettings {
            read_only: false,
            default_toolsets: Some("all".to_owned()),
            godot: (4, 6, 0),
            roots: Roots::new(Path::new("."), Path::new(".")),
        };
        Gate::new(settings, Registry::new(crate::toolsets::builtin_specs()))
    }

    fn job(gate: &Gate, name: &str, deadline: Instant) -> (Job, oneshot::Receiver<Finished>) {
        let args = match name {
            "delete_node" => json!({"node_path": "A"}),
            "open_scene" => json!({"scene_path": "res://b.tscn"}),
            _ => json!({}),
        };
        let args = args.as_object().cloned().unwrap_or_else(Map::new);
        let (reply, answer) = oneshot::channel();
        let call = gate.admit(name, args).expect("valid");
        let cancel = CancelFlag::default();
        let (ticket, grant, progress) = (None, None, None);
        let (log, runtime) = (None, None);
        let (id, within) = (Job::new_id(), Within::default());
        let moves = TabMove::of(call.spec(), &call.args).into_iter().collect();
        let job = Job {
            call,
            ticket,
            grant,
            peer: Peer::default(),
            turn: Turn::new(WaitedSlot::default()),
            moves,
            cancel,
            deadline,
            progress,
            log,
            runtime,
            reply,
            id,
            within,
        };
        (job, answer)
    }

    fn refusal(answer: &mut oneshot::Receiver<Finished>) -> ToolError {
        match answer.try_recv().expect("answered at once") {
            Finished::Answer(answer) => answer.expect_err("refused"),
            Finished::Ask(..) => panic!("it did not run"),
        }
    }

    fn later() -> Instant {
        Instant::now() + Duration::from_secs(60)
    }

    /// S3.5: a panic becomes an answer with the tool's name, and the next job runs.
    #[test]
    fn panics_become_answers() {
        let pump = Pump::default();
        let error = pump.guarded::<()>("boom", || panic!("no {}", "luck")).expect_err("panicked");
        assert_eq!(error.code, Code::Internal);
        assert!(error.message.contains("boom") && error.message.contains("no luck"), "{error}");
        assert!(!pump.running.get());
        assert_eq!(pump.guarded("next", || Ok(1)).expect("runs"), 1);
    }

    #[test]
    fn reads_pass_edits_and_edits_keep_their_order() {
        let (gate, queue) = (gate(), Queue::default());
        for name in ["delete_node", "save_scene", "get_active_scene"] {
            queue.submit(job(&gate, name, later()).0);
        }
        let name = |it: Option<Job>| it.map(|it| it.call.spec().name.clone()).unwrap_or_default();
        assert_eq!(name(queue.next(false, &Lock::default())), "get_active_scene");
        assert_eq!(
            name(queue.next(false, &Lock { scanning: true, ..Lock::default() })),
            "",
            "edits wait"
        );
        assert_eq!(name(queue.next(false, &Lock::default())), "delete_node");
        assert_eq!(name(queue.next(false, &Lock::default())), "", "a save needs the safe lane");
        assert_eq!(name(queue.next(true, &Lock::default())), "save_scene");
    }

    /// The queue is bounded: one more is answered `BUSY`, which says to try again.
    #[test]
    fn a_full_queue_is_busy() {
        let (gate, queue) = (gate(), Queue::default());
        for _ in 0..CAPACITY {
            queue.submit(job(&gate, "get_active_scene", later()).0);
        }
        let (job, mut answer) = job(&gate, "get_active_scene", later());
        queue.submit(job);
        let error = refusal(&mut answer);
        assert!(error.code == Code::Busy && error.code.retryable(), "{error}");
    }

    fn tab(lease: &RefCell<SceneLease>, time: Duration) -> Tab<'_> {
        Tab { lease: lease.borrow(), scene: "res://a.tscn".to_owned(), time }
    }

    /// X10.3: who wants another tab than the one in which somebody works waits, others do not.
    #[test]
    fn a_held_tab_holds_up_who_wants_another() {
        let (gate, queue) = (gate(), Queue::default());
        let (holder, other) = (Visit::default(), Visit::default());
        let holding = holder.peer();
        let lease = RefCell::new(SceneLease::default());
        lease.borrow_mut().renew(&holder.peer(), "res://a.tscn", Instant::now());
        let mut answers = Vec::new();
        for (visit, name) in [
            (&other, "close_scene"),
            (&other, "open_scene"),
            (&other, "delete_node"),
            (&holder, "open_scene"),
        ] {
            let (mut job, answer) = job(&gate, name, later());
            job.peer = visit.peer();
            answers.push(answer);
            queue.submit(job);
        }
        let next = |time: u64| {
            let tab = Some(tab(&lease, Duration::from_secs(time)));
            let job = queue.next(true, &Lock { tab, ..Lock::default() });
            job.map(|it| (it.call.spec().name.clone(), it.peer == holding, it))
        };
        for (name, own) in [("delete_node", false), ("open_scene", true)] {
            let (found, is_own, _) = next(60).expect("not held up");
            assert_eq!((found.as_str(), is_own), (name, own));
        }
        assert!(next(60).is_none());
        let (name, _, job) = next(0).expect("the time is over");
        let slot = Arc::clone(&job.turn.waited);
        job.answer(Err(ToolError::internal("test")));
        let waited = slot.get().expect("told").clone();
        assert_eq!((name.as_str(), waited.reason), ("close_scene", "scene_lease"));
        assert_eq!(waited.holder_scene.as_deref(), Some("res://a.tscn"));
        drop(holder);
        assert!(next(60).is_some(), "who goes frees it at once");
    }

    proptest! {
        /// X10.4: whatever clients ask, cancel and leave behind: one edit runs at a time, every call is
        /// answered once, and nothing is left in the queue.
        #[test]
        fn every_call_ends(steps in prop::collection::vec((0..9_u8, 0..4_usize), 1..120)) {
            let (gate, queue) = (gate(), Queue::default());
            let lease = RefCell::new(SceneLease::default());
            let mut visits: Vec<Visit> = (0..4).map(|_| Visit::default()).collect();
            let (mut answers, mut cancels) = (Vec::new(), Vec::new());
            let mut running: Vec<Job> = Vec::new();
            let done = |job: Job| job.answer(Ok(Reply::Json(json!({}))));
            let names = ["get_active_scene", "delete_node", "save_scene", "open_scene", "close_scene"];
            let rest = (0..1_000).map(|index| ([5, 6, 7][index % 3], usize::MAX));
            for (what, which) in steps.into_iter().chain(rest) {
                let settling = which == usize::MAX;
                match what {
                    0..=4 => {
                        let (mut job, answer) = job(&gate, names[usize::from(what)], later());
                        job.peer = visits[which].peer();
                        cancels.push(job.cancel.clone());
                        answers.push(answer);
                        queue.submit(job);
                    }
                    5 => queue.sweep(),
                    6 => {
                        let holders: Vec<u64> =
                            running.iter().filter(|it| it.is_edit()).map(|it| it.id).collect();
                        prop_assert!(holders.len() < 2, "two edits at once");
                        let time = Duration::from_secs(if settling { 0 } else { 60 });
                        let lock = Lock { scanning: !settling && which == 0, holders, tab: Some(tab(&lease, time)) };
                        let next = queue.next(true, &lock);
                        drop(lock);
                        if let Some(job) = next {
                            prop_assert!(job.is_edit() || job.call.spec().class == SafetyClass::ReadOnly);
                            lease.borrow_mut().renew(&job.peer, "res://a.tscn", Instant::now());
                            running.push(job);
                        }
                    }
                    7 if !running.is_empty() => {
                        let index = which % running.len();
                        done(running.remove(index));
                    }
                    8 => {
                        if let Some(it) = cancels.get(which) {
                            it.cancel();
                        }
                        visits[which] = Visit::default();
                    }
                    _ => {}
                }
            }
            prop_assert!(queue.is_empty() && running.is_empty());
            for answer in &mut answers {
                prop_assert!(answer.try_recv().is_ok(), "a call has no answer");
            }
        }
    }

    /// S2.3 and S2.5: what is overdue or abandoned is answered and never runs.
    #[test]
    fn overdue_and_cancelled_jobs_do_not_run() {
        let (gate, queue) = (gate(), Queue::default());
        let (late, mut late_answer) = job(&gate, "delete_node", Instant::now());
        let (left, mut left_answer) = job(&gate, "delete_node", later());
        left.cancel.cancel();
        queue.submit(late);
        queue.submit(left);
        queue.sweep();
        let timeout = refusal(&mut late_answer);
        assert_eq!(timeout.code, Code::Timeout);
        assert_eq!(timeout.details, Some(json!({"may_have_applied": false, "started": false})));
        assert!(timeout.message.contains("has not run"), "{timeout}");
        assert_eq!(refusal(&mut left_answer).code, Code::Cancelled);
        assert!(queue.next(true, &Lock::default()).is_none());
    }
}
