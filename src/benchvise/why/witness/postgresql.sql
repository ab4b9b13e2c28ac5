-- What a database of PostgreSQL holds: a name and a value or definition a row.
select 'index ' || i.indexrelid::regclass || ' on ' || i.indrelid::regclass,
  left(regexp_replace(pg_get_indexdef(i.indexrelid), '\s+', ' ', 'g'), 400) ||
  case when i.indisvalid then '' else ' (not valid)' end
  from pg_index i join pg_class c on c.oid = i.indexrelid join pg_namespace n on n.oid =
  c.relnamespace where n.nspname !~ '^(pg_|information_schema$)';
select 'constraint ' || c.conname || ' on ' || c.conrelid::regclass,
  left(regexp_replace(pg_get_constraintdef(c.oid), '\s+', ' ', 'g'), 400) from pg_constraint c
  join pg_namespace n
  on n.oid = c.connamespace where c.conrelid <> 0 and n.nspname !~ '^(pg_|information_schema$)';
select 'trigger ' || t.tgname || ' on ' || t.tgrelid::regclass,
  left(regexp_replace(pg_get_triggerdef(t.oid), '\s+', ' ', 'g'), 400) ||
  case t.tgenabled when 'D' then ' (disabled)' else '' end
  from pg_trigger t where not t.tgisinternal;
select 'table ' || c.oid::regclass, concat_ws(', ', case c.relpersistence when 'u' then 'unlogged'
  else 'logged' end, array_to_string(c.reloptions, ', '), case when c.relrowsecurity then
  'row security' end, case when c.relkind = 'p' then 'partitioned' end) from pg_class c
  join pg_namespace n on n.oid = c.relnamespace
  where c.relkind in ('r', 'p', 'f') and n.nspname !~ '^(pg_|information_schema$)';
select 'size of ' || c.oid::regclass, pg_table_size(c.oid) from pg_class c join pg_namespace n
  on n.oid = c.relnamespace where c.relkind in ('r', 'm') and n.nspname !~ '^(pg_|information_schema$)';
select 'statistics of ' || c.oid::regclass, case when exists (select from pg_statistic s where
  s.starelid = c.oid) then 'there' else 'none' end from pg_class c join pg_namespace n
  on n.oid = c.relnamespace where c.relkind in ('r', 'm') and c.relpages > 0 and n.nspname !~ '^(pg_|information_schema$)';
select 'column ' || a.attrelid::regclass || '.' || a.attname, concat_ws(', ',
  format_type(a.atttypid, a.atttypmod), case when a.attnotnull then 'not null' end,
  (select 'collation ' || concat_ws(' ', l.collname, case l.collprovider when 'i' then 'of ICU'
  end, coalesce(to_jsonb(l)->>'colllocale', to_jsonb(l)->>'colliculocale'),
  case when to_jsonb(l)->>'collisdeterministic' = 'false' then 'not deterministic' end)
  from pg_collation l where l.oid = a.attcollation and l.collname <> 'default'),
  case when a.attstattarget >= 0 then 'statistics ' || a.attstattarget end)
  from pg_attribute a join pg_class c on c.oid = a.attrelid join pg_namespace n on n.oid =
  c.relnamespace where a.attnum > 0 and not a.attisdropped and c.relkind in ('r', 'p', 'f') and
  n.nspname !~ '^(pg_|information_schema$)';
select 'view ' || c.oid::regclass, left(regexp_replace(pg_get_viewdef(c.oid), '\s+', ' ', 'g'), 400) from pg_class c join
  pg_namespace n on n.oid = c.relnamespace
  where c.relkind in ('v', 'm') and n.nspname !~ '^(pg_|information_schema$)'
  and not exists (select from pg_depend d where d.objid = c.oid and d.deptype = 'e');
select 'function ' || p.oid::regprocedure, 'text ' || left(md5(p.prosrc), 8) || case p.provolatile
  when 'v' then ', volatile' when 's' then ', stable' else ', immutable' end from pg_proc p
  join pg_namespace n on n.oid = p.pronamespace
  where n.nspname !~ '^(pg_|information_schema$)' and not exists (select from pg_depend d
  where d.objid = p.oid and d.deptype = 'e');
select 'policy ' || p.polname || ' on ' || p.polrelid::regclass,
  left(regexp_replace(pg_get_expr(p.polqual, p.polrelid), '\s+', ' ', 'g'), 400) from pg_policy p;
select 'extension ' || extname, extversion from pg_extension;
select 'setting ' || split_part(o, '=', 1) || case when r.setrole = 0 then '' else ' of role ' ||
  r.setrole::regrole end || case when r.setdatabase = 0 then ' everywhere' else '' end,
  substr(o, strpos(o, '=') + 1) from pg_db_role_setting r, unnest(r.setconfig) o
  where r.setdatabase in (0, (select oid from pg_database where datname = current_database()));
select 'setting ' || name || ' by ALTER SYSTEM', setting || coalesce(unit, '') from pg_settings
  where sourcefile like '%/postgresql.auto.conf' and name !~ 'conninfo|pass|command';
select 'replication slot ' || slot_name, case when active then 'in use' else 'not in use' end
  from pg_replication_slots;
select 'prepared transactions', count(*) from pg_prepared_xacts having count(*) > 0;
select 'setting collation of the database', concat_ws(' ', case to_jsonb(d)->>'datlocprovider'
  when 'i' then 'of ICU' when 'b' then 'built in' end, coalesce(to_jsonb(d)->>'datlocale',
  to_jsonb(d)->>'daticulocale', d.datcollate)) from pg_database d
  where d.datname = current_database();
