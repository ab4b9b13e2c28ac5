//! Which field each length and selector is read from: every field that is referred to gets a slot
//! for its value.

use super::classes::{
    FieldClass, Integer, Kind, Length, Location, Reference, Scope, TraceClass, Variant,
};
use crate::Label;

/// A field within a scope: which member, option or (0) element at each level.
type Path = Vec<usize>;

/// The scopes around an event, in their order.
type Roots<'a> = [(Scope, Option<&'a FieldClass>)];

/// Gives a slot to every field that another refers to. The error names what is not found.
pub(super) fn resolve(trace: &mut TraceClass) -> Result<(), String> {
    // Scopes of the packet first: those of events refer to them, but never the other way round.
    let mut slots = 0;
    resolve_scope(
        &mut slots,
        &mut [(Scope::PacketHeader, trace.packet_header.as_mut())],
        Scope::PacketHeader,
    )
    .map_err(|what| format!("the packet header: {what}"))?;
    for stream in &mut trace.streams {
        let id = stream.id;
        for scope in [Scope::PacketContext, Scope::EventHeader, Scope::CommonContext] {
            let mut roots = [
                (Scope::PacketHeader, trace.packet_header.as_mut()),
                (Scope::PacketContext, stream.packet_context.as_mut()),
                (Scope::EventHeader, stream.event_header.as_mut()),
                (Scope::CommonContext, stream.common_context.as_mut()),
            ];
            resolve_scope(&mut slots, &mut roots, scope)
                .map_err(|what| format!("stream {id}: {what}"))?;
        }
    }
    for event in &mut trace.events {
        let stream = &mut trace.streams[event.stream];
        for scope in [Scope::SpecificContext, Scope::Payload] {
            let mut roots = [
                (Scope::PacketHeader, trace.packet_header.as_mut()),
                (Scope::PacketContext, stream.packet_context.as_mut()),
                (Scope::EventHeader, stream.event_header.as_mut()),
                (Scope::CommonContext, stream.common_context.as_mut()),
                (Scope::SpecificContext, event.context.as_mut()),
                (Scope::Payload, event.payload.as_mut()),
            ];
            resolve_scope(&mut slots, &mut roots, scope)
                .map_err(|what| format!("event {}: {what}", event.name))?;
        }
    }
    trace.slots = slots;
    Ok(())
}

/// Resolves what `scope` refers to.
fn resolve_scope(
    slots: &mut usize,
    roots: &mut [(Scope, Option<&mut FieldClass>)],
    scope: Scope,
) -> Result<(), String> {
    let mut targets = Vec::new();
    {
        let roots: Vec<_> = roots.iter().map(|(scope, root)| (*scope, root.as_deref())).collect();
        let Some(root) = roots.iter().find(|(of, _)| *of == scope).and_then(|(_, root)| *root)
        else {
            return Ok(());
        };
        let mut finder = Finder { roots: &roots, scope, chain: vec![], targets: &mut targets };
        finder.visit(root)?;
    }
    for target in &mut targets {
        let root = roots.iter_mut().find(|(of, _)| *of == target.scope);
        let root = root.and_then(|(_, root)| root.as_deref_mut()).expect("was found in it");
        let integer = integer_at(root, &target.path).expect("was found there");
        let slot = match integer.slot {
            Some(slot) => slot,
            None => {
                let slot = u16::try_from(*slots).map_err(|_| "too many references".to_owned())?;
                *slots += 1;
                integer.slot = Some(slot);
                slot
            }
        };
        target.slot = slot;
    }
    let root = roots.iter_mut().find(|(of, _)| *of == scope);
    let root = root.and_then(|(_, root)| root.as_deref_mut()).expect("is there");
    assign(root, &mut targets.into_iter());
    Ok(())
}

/// A reference's target, in the order in which references are visited.
struct Target {
    scope: Scope,
    path: Path,
    slot: u16,
    /// The target's labels, for options that are chosen by label; and whether it is signed.
    labels: std::sync::Arc<[Label]>,
}

struct Finder<'a, 'b> {
    roots: &'b Roots<'a>,
    scope: Scope,
    /// From the root to the field that is visited: each class with the place of the next within.
    chain: Vec<(&'a FieldClass, usize)>,
    targets: &'b mut Vec<Target>,
}

impl<'a> Finder<'a, '_> {
    fn visit(&mut self, class: &'a FieldClass) -> Result<(), String> {
        match &class.kind {
            Kind::Integer(_) | Kind::Float { .. } | Kind::Text(_) => {}
            Kind::Bytes(bytes) => self.length(&bytes.length)?,
            Kind::Struct(members) => {
                for (at, member) in members.iter().enumerate() {
                    self.chain.push((class, at));
                    self.visit(&member.class)?;
                    self.chain.pop();
                }
            }
            Kind::Array { length, of } => {
                self.length(length)?;
                self.chain.push((class, 0));
                self.visit(of)?;
                self.chain.pop();
            }
            Kind::Variant(variant) => {
                self.refer(&variant.selector)?;
                for (at, option) in variant.options.iter().enumerate() {
                    self.chain.push((class, at));
                    self.visit(&option.class)?;
                    self.chain.pop();
                }
            }
        }
        Ok(())
    }

    fn length(&mut self, length: &Length) -> Result<(), String> {
        match length {
            Length::Fixed(_) => Ok(()),
            Length::Of(reference) => self.refer(reference),
        }
    }

    fn refer(&mut self, reference: &Reference) -> Result<(), String> {
        let name = || match &reference.location {
            Location::Absolute(scope, path) => format!("{path:?} in {scope:?}"),
            Location::Relative(path) => format!("{path:?}"),
            Location::Search(path) => path.join("."),
        };
        let target = match &reference.location {
            Location::Absolute(scope, path) => self.absolute(*scope, path),
            Location::Relative(path) => self.relative(path),
            Location::Search(path) => self.search(path),
        };
        let (scope, path) =
            target.ok_or_else(|| format!("the field {}, referred to, is not before it", name()))?;
        let root = self.roots.iter().find(|(of, _)| *of == scope).and_then(|(_, root)| *root);
        match root.and_then(|root| class_at(root, &path)).map(|class| &class.kind) {
            Some(Kind::Integer(integer)) => {
                let labels = integer.labels.clone();
                self.targets.push(Target { scope, path, slot: 0, labels });
                Ok(())
            }
            _ => Err(format!("the field {}, referred to, is no integer", name())),
        }
    }

    fn absolute(&self, scope: Scope, path: &[String]) -> Option<(Scope, Path)> {
        if scope > self.scope {
            return None;
        }
        let (_, root) = self.roots.iter().find(|(of, _)| *of == scope)?;
        let before = (scope == self.scope).then(|| self.path());
        let mut found = Path::new();
        descend((*root)?, path, &mut found)?;
        // A field can only depend on what is read before it.
        before.is_none_or(|before| found < before).then_some((scope, found))
    }

    fn relative(&self, path: &[Option<String>]) -> Option<(Scope, Path)> {
        let up = path.iter().take_while(|step| step.is_none()).count();
        let names: Option<Vec<String>> = path[up..].iter().cloned().collect();
        let structs = self.chain.iter().enumerate().rev();
        let mut structs = structs.filter(|(_, (class, _))| matches!(class.kind, Kind::Struct(_)));
        let (depth, (class, _)) = structs.nth(up)?;
        self.below(depth, class, &names?)
    }

    fn search(&self, path: &[String]) -> Option<(Scope, Path)> {
        for (depth, (class, _)) in self.chain.iter().enumerate().rev() {
            if matches!(class.kind, Kind::Struct(_))
                && let Some(target) = self.below(depth, class, path)
            {
                return Some(target);
            }
        }
        let outer = self.roots.iter().rev().filter(|(scope, _)| *scope < self.scope);
        outer.filter_map(|(scope, root)| Some((*scope, (*root)?))).find_map(|(scope, root)| {
            let mut target = Path::new();
            descend(root, path, &mut target).map(|()| (scope, target))
        })
    }

    /// Looks in a structure that the visited field is within, among what is read before.
    fn below(&self, depth: usize, class: &FieldClass, path: &[String]) -> Option<(Scope, Path)> {
        let mut target: Path = self.chain[..depth].iter().map(|(_, at)| *at).collect();
        descend(class, path, &mut target)?;
        (target < self.path()).then_some((self.scope, target))
    }

    fn path(&self) -> Path {
        self.chain.iter().map(|(_, at)| *at).collect()
    }
}

/// Follows names through structures and the options of variants.
fn descend(class: &FieldClass, names: &[String], path: &mut Path) -> Option<()> {
    let Some((name, rest)) = names.split_first() else {
        return matches!(class.kind, Kind::Integer(_)).then_some(());
    };
    let (at, next) = match &class.kind {
        Kind::Struct(members) => {
            let at = members.iter().position(|member| member.name == *name)?;
            (at, &members[at].class)
        }
        Kind::Variant(Variant { options, .. }) => {
            let at = options.iter().position(|option| option.name == *name)?;
            (at, &options[at].class)
        }
        _ => return None,
    };
    path.push(at);
    descend(next, rest, path)
}

fn class_at<'a>(class: &'a FieldClass, path: &[usize]) -> Option<&'a FieldClass> {
    let Some((&at, rest)) = path.split_first() else { return Some(class) };
    let next = match &class.kind {
        Kind::Struct(members) => &members.get(at)?.class,
        Kind::Array { of, .. } => of,
        Kind::Variant(variant) => &variant.options.get(at)?.class,
        _ => return None,
    };
    class_at(next, rest)
}

fn integer_at<'a>(class: &'a mut FieldClass, path: &[usize]) -> Option<&'a mut Integer> {
    let Some((&at, rest)) = path.split_first() else {
        return match &mut class.kind {
            Kind::Integer(integer) => Some(integer),
            _ => None,
        };
    };
    let next = match &mut class.kind {
        Kind::Struct(members) => &mut members.get_mut(at)?.class,
        Kind::Array { of, .. } => of,
        Kind::Variant(variant) => &mut variant.options.get_mut(at)?.class,
        _ => return None,
    };
    integer_at(next, rest)
}

/// Puts the slots into the references, which are visited as [`Finder::visit`] does.
fn assign(class: &mut FieldClass, found: &mut impl Iterator<Item = Target>) {
    let mut next = |reference: &mut Reference| {
        let target = found.next().expect("one for each reference");
        reference.slot = Some(target.slot);
        target
    };
    match &mut class.kind {
        Kind::Integer(_) | Kind::Float { .. } | Kind::Text(_) => {}
        Kind::Bytes(bytes) => {
            if let Length::Of(reference) = &mut bytes.length {
                next(reference);
            }
        }
        Kind::Struct(members) => {
            members.iter_mut().for_each(|member| assign(&mut member.class, found));
        }
        Kind::Array { length, of } => {
            if let Length::Of(reference) = length {
                next(reference);
            }
            assign(of, found);
        }
        Kind::Variant(variant) => {
            let labels = next(&mut variant.selector).labels;
            for option in &mut variant.options {
                if option.ranges.is_empty() {
                    let own = labels.iter().filter(|label| same(&label.name, &option.name));
                    option.ranges = own.map(|label| (label.first, label.last)).collect();
                }
                assign(&mut option.class, found);
            }
        }
    }
}

/// LTTng writes some labels without the `_` that it puts before the names of fields.
fn same(label: &str, option: &str) -> bool {
    label == option || option.strip_prefix('_') == Some(label)
}
