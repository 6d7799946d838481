//! Servers that crash, restart, fall behind and take over from each other.

use super::Stage;
use crate::sim::action::{Action, ServerId};
use crate::sim::event::{Answer, Fact, Server};
use crate::sim::store::StoreInput;

impl Stage<'_> {
    /// The server that a request goes to: the one that it names, or else the primary of the first.
    pub(super) fn target(&self, named: Option<ServerId>) -> ServerId {
        named
            .or_else(|| self.primary_of(ServerId::FIRST))
            .unwrap_or(ServerId::FIRST)
    }

    /// The primary of a server and its replicas.
    fn primary_of(&self, server: ServerId) -> Option<ServerId> {
        let members = self.setup.members_of(self.setup.group_of(server));
        self.world.primary_among(&members)
    }

    pub(super) fn crash_server(&mut self, server: ServerId) {
        self.note(Fact::ServerCrashed { server });
        let waiting = self.world.store(server).waiting();
        self.apply_to_store(None, server, StoreInput::Crash);
        self.lose_replica(server);
        for connection in waiting {
            self.late_reply(connection, Server::Store(server), Answer::Lost);
        }
    }

    pub(super) fn restart_server(&mut self, server: ServerId, keeps_data: bool) {
        self.note(Fact::ServerRestarted { server, keeps_data });
        self.apply_to_store(None, server, StoreInput::Restart { keeps_data });
        let members = self.setup.members_of(self.setup.group_of(server));
        for replica in members {
            let has_gone = self.world.store(server).has_lost(replica.0);
            if self.world.store(replica).is_replica() && (replica == server || has_gone) {
                self.synchronise(replica);
            }
        }
    }

    /// The primary of a replica that is down learns of it.
    fn lose_replica(&mut self, replica: ServerId) {
        let primary = self.primary_of(replica);
        if let Some(primary) = primary.filter(|primary| *primary != replica) {
            let replica = replica.0;
            self.apply_to_store(None, primary, StoreInput::Lose { replica });
        }
    }

    /// A replica becomes as its primary is, if that answers.
    fn synchronise(&mut self, replica: ServerId) {
        let Some(primary) = self.primary_of(replica) else {
            return;
        };
        let primary_store = self.world.store(primary).clone();
        if primary_store.is_down() || self.world.store(replica).is_down() {
            return;
        }
        let input = StoreInput::Synchronise {
            primary: &primary_store,
        };
        self.apply_to_store(None, replica, input);
        let entries = primary_store.lacking(replica.0).len();
        let input = StoreInput::Acknowledge {
            replica: replica.0,
            entries,
        };
        self.apply_to_store(None, primary, input);
    }

    pub(super) fn replicate(&mut self, to: ServerId, commands: Option<u64>) {
        let Some(from) = self.primary_of(to) else {
            return;
        };
        let most = commands.map_or(usize::MAX, |commands| {
            usize::try_from(commands).unwrap_or(usize::MAX)
        });
        let lacking = self.world.store(from).lacking(to.0);
        let sent = lacking[..lacking.len().min(most)].to_vec();
        let ahead = self.world.store(from).clock() - self.world.store(to).clock();
        self.note(Fact::Replicated {
            from,
            to,
            commands: sent.len(),
        });
        for effects in &sent {
            let input = StoreInput::Replicate { effects, ahead };
            self.apply_to_store(effects.origin, to, input);
        }
        let input = StoreInput::Acknowledge {
            replica: to.0,
            entries: sent.len(),
        };
        self.apply_to_store(None, from, input);
    }

    pub(super) fn fail_over(&mut self, to: ServerId) {
        let Some(from) = self.primary_of(to) else {
            return;
        };
        let lost = self.world.store(from).lacking(to.0).len();
        let members = self.setup.members_of(self.setup.group_of(to));
        let others: Vec<ServerId> = members.into_iter().filter(|other| *other != to).collect();
        let replicas: Vec<usize> = others.iter().map(|other| other.0).collect();
        self.note(Fact::FailedOver { from, to, lost });
        let lead = StoreInput::Lead {
            replicas: &replicas,
        };
        self.apply_to_store(None, to, lead);
        self.apply_to_store(None, from, StoreInput::Follow);
        for other in others {
            match self.world.store(other).is_down() {
                true => self.lose_replica(other),
                false => self.synchronise(other),
            }
        }
    }

    pub(super) fn refuse_servers(&self, action: &Action) -> Result<(), String> {
        match action {
            Action::CrashServer { server } => self.refuse_down(*server),
            Action::RestartServer { server, .. } => match self.world.store(*server).is_down() {
                true => Ok(()),
                false => Err(format!("{} is not down", self.server_name(*server))),
            },
            Action::Replicate { to, .. } => {
                self.refuse_primary(*to)?;
                self.refuse_down(*to)?;
                self.primary_of(*to)
                    .map_or(Ok(()), |primary| self.refuse_down(primary))
            }
            Action::Failover { to } => {
                self.refuse_primary(*to)?;
                self.refuse_down(*to)
            }
            Action::Evict { server, key } => {
                let state = self.existing_key(*server, key)?;
                let policy = self.setup.policy;
                if policy.evicts_nothing() {
                    return Err(format!(
                        "maxmemory-policy is {}: no key is ever evicted, and when memory is full the server refuses writes; \
                         `option maxmemory-policy allkeys-lru` would evict it",
                        policy.name()
                    ));
                }
                if policy.spares_keys_without_ttl() && state.remaining.is_none() {
                    return Err(format!(
                        "{} evicts only keys that have a time to live, and {} has none",
                        policy.name(),
                        String::from_utf8_lossy(key)
                    ));
                }
                Ok(())
            }
            _ => Ok(()),
        }
    }

    /// Whether the server is there.
    pub(super) fn refuse_down(&self, server: ServerId) -> Result<(), String> {
        match self.world.store(server).is_down() {
            true => Err(format!("{} is down", self.server_name(server))),
            false => Ok(()),
        }
    }

    fn refuse_primary(&self, server: ServerId) -> Result<(), String> {
        match self.world.store(server).is_replica() {
            true => Ok(()),
            false => Err(format!("{} is no replica", self.server_name(server))),
        }
    }

    fn server_name(&self, server: ServerId) -> &str {
        self.setup.server_name(server)
    }
}
