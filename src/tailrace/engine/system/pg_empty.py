"""Relations of `pg_catalog` that clients look into and where there is never anything: with the right column names."""

from __future__ import annotations

from tailrace.engine.system.contract import SystemTable, empty

TABLES: tuple[SystemTable, ...] = (
    empty("pg_catalog.pg_shdescription", "objoid oid, classoid oid, description text"),
    empty("pg_catalog.pg_enum", "oid oid, enumtypid oid, enumsortorder real, enumlabel text"),
    empty(
        "pg_catalog.pg_depend",
        "classid oid, objid oid, objsubid integer, refclassid oid, refobjid oid, refobjsubid integer, "
        'deptype "char"',
    ),
    empty("pg_catalog.pg_inherits", "inhrelid oid, inhparent oid, inhseqno integer, inhdetachpending boolean"),
    empty(
        "pg_catalog.pg_policy",
        'oid oid, polname text, polrelid oid, polcmd "char", polpermissive boolean, polroles oid[], polqual text?, '
        "polwithcheck text?",
    ),
    empty(
        "pg_catalog.pg_trigger",
        'oid oid, tgrelid oid, tgparentid oid, tgname text, tgfoid oid, tgtype smallint, tgenabled "char", '
        "tgisinternal boolean, tgconstrrelid oid, tgconstrindid oid, tgconstraint oid, tgdeferrable boolean, "
        "tginitdeferred boolean, tgnargs smallint, tgattr int2vector, tgargs bytea, tgqual text?",
    ),
    empty(
        "pg_catalog.pg_event_trigger",
        'oid oid, evtname text, evtevent text, evtowner oid, evtfoid oid, evtenabled "char", '
        "evttags text[]?",
    ),
    empty(
        "pg_catalog.pg_rewrite",
        'oid oid, rulename text, ev_class oid, ev_type "char", ev_enabled "char", is_instead boolean',
    ),
    empty(
        "pg_catalog.pg_extension",
        "oid oid, extname text, extowner oid, extnamespace oid, extrelocatable boolean, extversion text",
    ),
    empty(
        "pg_catalog.pg_locks",
        "locktype text, database oid?, relation oid?, pid integer?, mode text, granted boolean",
    ),
    empty("pg_catalog.pg_aggregate", 'aggfnoid oid, aggkind "char", aggnumdirectargs smallint'),
    empty(
        "pg_catalog.pg_operator",
        'oid oid, oprname text, oprnamespace oid, oprowner oid, oprkind "char", oprcanmerge boolean, '
        "oprcanhash boolean, oprleft oid, oprright oid, oprresult oid, oprcode oid",
    ),
    empty("pg_catalog.pg_opclass", "oid oid, opcmethod oid, opcname text, opcnamespace oid, opcdefault boolean"),
    empty("pg_catalog.pg_opfamily", "oid oid, opfmethod oid, opfname text, opfnamespace oid"),
    empty(
        "pg_catalog.pg_sequence",
        "seqrelid oid, seqtypid oid, seqstart bigint, seqincrement bigint, seqmax bigint, seqmin bigint, "
        "seqcache bigint, seqcycle boolean",
    ),
    empty("pg_catalog.pg_sequences", "schemaname text, sequencename text, sequenceowner text"),
    empty("pg_catalog.pg_foreign_table", "ftrelid oid, ftserver oid, ftoptions text[]?"),
    empty("pg_catalog.pg_foreign_server", "oid oid, srvname text, srvowner oid, srvfdw oid, srvoptions text[]?"),
    empty(
        "pg_catalog.pg_foreign_data_wrapper",
        "oid oid, fdwname text, fdwowner oid, fdwhandler oid, fdwvalidator oid, fdwacl text[]?, "
        "fdwoptions text[]?",
    ),
    empty(
        "pg_catalog.pg_publication",
        "oid oid, pubname text, pubowner oid, puballtables boolean, pubinsert boolean, pubupdate boolean, "
        "pubdelete boolean, pubtruncate boolean, pubviaroot boolean",
    ),
    empty("pg_catalog.pg_publication_rel", "oid oid, prpubid oid, prrelid oid, prqual text?, prattrs smallint[]?"),
    empty("pg_catalog.pg_publication_namespace", "oid oid, pnpubid oid, pnnspid oid"),
    empty("pg_catalog.pg_subscription", "oid oid, subdbid oid, subname text, subowner oid, subenabled boolean"),
    empty(
        "pg_catalog.pg_statistic_ext",
        "oid oid, stxrelid oid, stxname text, stxnamespace oid, stxowner oid, stxstattarget integer, "
        'stxkeys int2vector, stxkind "char"[]',
    ),
    empty("pg_catalog.pg_partitioned_table", 'partrelid oid, partstrat "char", partnatts smallint'),
    empty(
        "pg_catalog.pg_default_acl",
        'oid oid, defaclrole oid, defaclnamespace oid, defaclobjtype "char", defaclacl text[]',
    ),
    empty(
        "pg_catalog.pg_cast",
        'oid oid, castsource oid, casttarget oid, castfunc oid, castcontext "char", castmethod "char"',
    ),
    empty(
        "pg_catalog.pg_conversion",
        "oid oid, conname text, connamespace oid, conowner oid, conforencoding integer, contoencoding integer,"
        " conproc oid, condefault boolean",
    ),
    empty(
        "pg_catalog.pg_prepared_xacts",
        "transaction bigint, gid text, prepared timestamptz, owner text, database text",
    ),
    empty("pg_catalog.pg_available_extensions", "name text, default_version text, comment text"),
    empty("pg_catalog.pg_largeobject_metadata", "oid oid, lomowner oid, lomacl text[]?"),
    empty(
        "pg_catalog.pg_stat_user_tables",
        "relid oid, schemaname text, relname text, seq_scan bigint, idx_scan bigint?, n_tup_ins bigint, "
        "n_tup_upd bigint, n_tup_del bigint, n_live_tup bigint, n_dead_tup bigint, last_vacuum timestamptz?, "
        "last_autovacuum timestamptz?, last_analyze timestamptz?, last_autoanalyze timestamptz?",
    ),
    empty(
        "pg_catalog.pg_stat_user_indexes",
        "relid oid, indexrelid oid, schemaname text, relname text, indexrelname text, idx_scan bigint, "
        "idx_tup_read bigint, idx_tup_fetch bigint",
    ),
    empty(
        "pg_catalog.pg_statio_user_tables",
        "relid oid, schemaname text, relname text, heap_blks_read bigint, heap_blks_hit bigint, idx_blks_read bigint?, "
        "idx_blks_hit bigint?",
    ),
    empty("pg_catalog.pg_user_mappings", "umid oid, srvid oid, srvname text, umuser oid, usename text"),
    empty("pg_catalog.pg_ts_config", "oid oid, cfgname text, cfgnamespace oid, cfgowner oid, cfgparser oid"),
    empty("pg_catalog.pg_ts_dict", "oid oid, dictname text, dictnamespace oid, dictowner oid, dicttemplate oid"),
    empty("pg_catalog.pg_ts_parser", "oid oid, prsname text, prsnamespace oid"),
    empty("pg_catalog.pg_ts_template", "oid oid, tmplname text, tmplnamespace oid"),
)
