"""ActiveRecord and Sequel: Ruby's libraries over ruby-pg: migrations, relations, upserts, schema dumps."""

from __future__ import annotations

import subprocess
import sys

from scenario import skip

_SCRIPT = r"""
require "json"; require "active_record"; require "sequel"
def check(feature, name) = (error = begin; yield; nil; rescue Exception => e; "#{e.class}: #{e.message}".tr("\n", " "); end; puts JSON.generate(feature: feature, check: name, error: error))
def same(found, expected) = (raise "#{found.inspect} instead of #{expected.inspect}" unless found == expected)
puts JSON.generate(version: "#{ActiveRecord::VERSION::STRING}, #{Sequel::VERSION}")
ActiveRecord::Migration.verbose = false
check("connect", "ActiveRecord") { ActiveRecord::Base.establish_connection(adapter: "postgresql", database: ENV["PGDATABASE"]); same(ActiveRecord::Base.connection.select_value("SELECT 1"), 1) }
check("migrations", "ActiveRecord's schema") { ActiveRecord::Schema.define(version: 1) { create_table(:authors) { |t| t.string :name, null: false, index: {unique: true}; t.jsonb :data, default: {}; t.text :tags, array: true, default: []; t.point :place; t.daterange :period; t.inet :ip; t.timestamps }
  create_table(:books, id: :uuid, default: "gen_random_uuid()") { |t| t.references :author, foreign_key: {on_delete: :cascade}; t.decimal :price, precision: 8, scale: 2; t.boolean :ok, default: true; t.check_constraint "price >= 0" }; add_index :books, [:author_id, :price] } }
class Author < ActiveRecord::Base; has_many :books; end
class Book < ActiveRecord::Base; belongs_to :author; end
check("types", "arrays, ranges, points, JSON") { a = Author.create!(name: "Ann", data: {a: [1]}, tags: %w[x y], place: [1, 2], period: Date.new(2024, 1, 1)..Date.new(2024, 2, 1), ip: "10.0.0.1"); a.books.create!(price: 2.5); a.reload; same([a.place.to_a, a.tags, a.data, a.ip.to_s, a.period.first], [[1.0, 2.0], %w[x y], {"a" => [1]}, "10.0.0.1", Date.new(2024, 1, 1)]) }
check("queries", "relations and groups") { same(Author.joins(:books).group(:name).sum(:price), {"Ann" => 2.5.to_d}); same(Author.where("data @> ?", {a: [1]}.to_json).includes(:books).to_a.size, 1) }
check("queries", "upserts and duplicates") { begin; Author.transaction { Author.create!(name: "Ann") }; raise "no error"; rescue ActiveRecord::RecordNotUnique; end; now = Time.now; Author.upsert_all([{name: "Ann", created_at: now, updated_at: now}], unique_by: :name); same(Author.count, 1) }
check("transactions", "locks and savepoints") { Author.find_each { |x| x.with_lock { x.update!(name: "Bob") } }; Author.transaction { Author.transaction(requires_new: true) { Author.delete_all; raise ActiveRecord::Rollback } }; same(Author.pluck(:name), ["Bob"]) }
check("metadata", "indexes, keys, columns") { c = Author.connection; same([c.indexes(:books).map(&:name), c.foreign_keys(:books).map(&:to_table), c.primary_key(:books), Author.columns_hash["place"].sql_type], [%w[index_books_on_author_id index_books_on_author_id_and_price], %w[authors], "id", "point"]) }
check("metadata", "a dump of the schema, loaded again") { s = StringIO.new; ActiveRecord::SchemaDumper.dump(Author.connection, s); eval(s.string); t = StringIO.new; ActiveRecord::SchemaDumper.dump(Author.connection, t); same(t.string, s.string) }
d = nil
check("connect", "Sequel") { d = Sequel.connect("postgres://"); d.extension :pg_array, :pg_json; same(d.get(1), 1) }
check("migrations", "Sequel's schema") { d.create_table(:a) { primary_key :id; String :name, size: 20, unique: true; column :tags, "text[]"; jsonb :j; foreign_key :a_id, :a, on_delete: :cascade; index :name }; d.alter_table(:a) { add_column :z, Integer, default: 3 }; same(d[:a].columns, %i[id name tags j a_id z]) }
check("queries", "Sequel's changes") { d[:a].insert(name: "x", tags: Sequel.pg_array(%w[a b]), j: Sequel.pg_jsonb({"k" => 1})); same(d[:a].insert_conflict(target: :name, update: {name: "y"}).insert(name: "x"), 1); same(d[:a].use_cursor.map([:name, :tags]), [["y", %w[a b]]]); begin; d[:a].insert(name: "y"); raise "no error"; rescue Sequel::UniqueConstraintViolation; end }
check("metadata", "Sequel's") { same([d.indexes(:a).keys, d.foreign_key_list(:a).map { |f| f[:table] }, d.schema(:a).to_h[:tags][:db_type]], [%i[a_name_index a_name_key], [:a], "text[]"]) }
"""

if subprocess.run(
    ["ruby", "-e", "require 'active_record'; require 'sequel'; require 'pg'"], capture_output=True, check=False
).returncode:
    skip("ruby-activerecord, ruby-sequel and ruby-pg are not installed")
sys.exit(subprocess.run(["ruby", "-W0", "-e", _SCRIPT], check=False).returncode)
