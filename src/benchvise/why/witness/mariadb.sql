-- What MariaDB and MySQL hold: a name and a value or definition a row.
select concat('index ', index_name, ' on ', table_schema, '.', table_name), concat_ws(' ',
  if(non_unique, '', 'unique'), index_type, group_concat(column_name order by seq_in_index))
  from information_schema.statistics
  where table_schema not in ('mysql', 'sys', 'performance_schema', 'information_schema')
  group by table_schema,
  table_name, index_name, non_unique, index_type;
select concat('table ', table_schema, '.', table_name), concat_ws(', ', engine, row_format,
  concat('collation ', table_collation), nullif(create_options, '')) from information_schema.tables
  where table_schema not in ('mysql', 'sys', 'performance_schema', 'information_schema')
  and table_type = 'BASE TABLE';
select concat('size of ', table_schema, '.', table_name), data_length from
  information_schema.tables where table_schema not in ('mysql', 'sys', 'performance_schema', 'information_schema') and table_type = 'BASE TABLE';
select concat('column ', table_schema, '.', table_name, '.', column_name), concat_ws(', ',
  column_type, if(is_nullable = 'NO', 'not null', null), concat('collation ', collation_name)) from
  information_schema.columns where table_schema not in ('mysql', 'sys', 'performance_schema', 'information_schema');
select concat('constraint ', constraint_name, ' on ', table_schema, '.', table_name),
  constraint_type from information_schema.table_constraints
  where table_schema not in ('mysql', 'sys', 'performance_schema', 'information_schema');
select concat('trigger ', trigger_name, ' on ', event_object_schema, '.', event_object_table),
  concat_ws(' ', action_timing, event_manipulation, left(md5(action_statement), 8)) from
  information_schema.triggers where trigger_schema not in ('mysql', 'sys', 'performance_schema', 'information_schema');
select concat('view ', table_schema, '.', table_name), left(view_definition, 400) from
  information_schema.views where table_schema not in ('mysql', 'sys', 'performance_schema', 'information_schema');
select concat('function ', routine_schema, '.', routine_name), concat('text ',
  left(md5(routine_definition), 8)) from information_schema.routines where routine_schema
  not in ('mysql', 'sys', 'performance_schema', 'information_schema');
select concat('setting ', lower(variable_name)), left(variable_value, 200) from
  information_schema.global_variables where variable_name not regexp
  'pid_file|hostname|server_(id|uid)|uuid|^gtid|^last_|timestamp|datadir|_pos$|wsrep_(node|start)';
