//! The skeletons of `scaffold_project`: small games that run as they are.

use godot::global::Key;
use serde::Deserialize;

/// A kind of game.
#[derive(Clone, Copy, Debug, Deserialize, schemars::JsonSchema, PartialEq, Eq)]
pub(crate) enum Kind {
    #[serde(rename = "2d_platformer")]
    Platformer,
    #[serde(rename = "2d_topdown")]
    TopDown,
    #[serde(rename = "3d")]
    ThreeD,
    #[serde(rename = "ui")]
    Ui,
}

/// Input actions of a skeleton, each with the keys by their place.
pub(crate) type Actions = &'static [(&'static str, &'static [Key])];

const MOVE: Actions = &[
    ("move_left", &[Key::A, Key::LEFT]),
    ("move_right", &[Key::D, Key::RIGHT]),
    ("move_up", &[Key::W, Key::UP]),
    ("move_down", &[Key::S, Key::DOWN]),
];
const RUN_AND_JUMP: Actions = &[
    ("move_left", &[Key::A, Key::LEFT]),
    ("move_right", &[Key::D, Key::RIGHT]),
    ("jump", &[Key::SPACE]),
];
const MOVE_AND_JUMP: Actions = &[
    ("move_left", &[Key::A, Key::LEFT]),
    ("move_right", &[Key::D, Key::RIGHT]),
    ("move_up", &[Key::W, Key::UP]),
    ("move_down", &[Key::S, Key::DOWN]),
    ("jump", &[Key::SPACE]),
];

/// Where the autoload of every skeleton lies.
pub(crate) const AUTOLOAD: (&str, &str) = ("GameState", "res://scripts/game_state.gd");
/// Where the script of the main scene lies.
const MAIN_SCRIPT: &str = "res://scripts/main_menu.gd";
const PLAYER_SCRIPT: &str = "res://scripts/player.gd";

impl Kind {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Platformer => "2d_platformer",
            Self::TopDown => "2d_topdown",
            Self::ThreeD => "3d",
            Self::Ui => "ui",
        }
    }

    pub(crate) fn actions(self) -> Actions {
        match self {
            Self::Platformer => RUN_AND_JUMP,
            Self::TopDown => MOVE,
            Self::ThreeD => MOVE_AND_JUMP,
            Self::Ui => &[],
        }
    }

    /// Folders that are there for what comes.
    pub(crate) fn folders(self) -> &'static [&'static str] {
        &["res://assets"]
    }

    /// All files, with their text.
    pub(crate) fn files(self, main_scene: &str) -> Vec<(String, String)> {
        let (script, source, scene) = match self {
            Self::Platformer => (PLAYER_SCRIPT, PLATFORMER_PLAYER, PLATFORMER_SCENE),
            Self::TopDown => (PLAYER_SCRIPT, TOP_DOWN_PLAYER, TOP_DOWN_SCENE),
            Self::ThreeD => (PLAYER_SCRIPT, PLAYER_3D, SCENE_3D),
            Self::Ui => (MAIN_SCRIPT, MENU, UI_SCENE),
        };
        [(AUTOLOAD.1, GAME_STATE), (script, source), (main_scene, scene)]
            .map(|(path, text)| (path.to_owned(), text.to_owned()))
            .to_vec()
    }
}

const GAME_STATE: &str = r#"extends Node
## State of the game that outlives a scene.

signal score_changed(score: int)

var score := 0:
	set(value):
		score = value
		score_changed.emit(score)


func reset() -> void:
	score = 0
"#;

const PLATFORMER_PLAYER: &str = r#"extends CharacterBody2D
## Runs and jumps.

@export var speed := 300.0
@export var jump_velocity := -400.0


func _physics_process(delta: float) -> void:
	if not is_on_floor():
		velocity += get_gravity() * delta
	elif Input.is_action_just_pressed("jump"):
		velocity.y = jump_velocity
	velocity.x = Input.get_axis("move_left", "move_right") * speed
	move_and_slide()
"#;

const TOP_DOWN_PLAYER: &str = r#"extends CharacterBody2D
## Walks in all directions.

@export var speed := 250.0


func _physics_process(_delta: float) -> void:
	velocity = Input.get_vector("move_left", "move_right", "move_up", "move_down") * speed
	move_and_slide()
"#;

const PLAYER_3D: &str = r#"extends CharacterBody3D
## Walks on the ground and jumps.

@export var speed := 5.0
@export var jump_velocity := 4.5


func _physics_process(delta: float) -> void:
	if not is_on_floor():
		velocity += get_gravity() * delta
	elif Input.is_action_just_pressed("jump"):
		velocity.y = jump_velocity
	var input := Input.get_vector("move_left", "move_right", "move_up", "move_down")
	velocity.x = input.x * speed
	velocity.z = input.y * speed
	move_and_slide()
"#;

const MENU: &str = r#"extends Control
## The main menu.

@onready var start_button: Button = %StartButton
@onready var quit_button: Button = %QuitButton
@onready var score_label: Label = %ScoreLabel


func _ready() -> void:
	start_button.pressed.connect(_on_start_pressed)
	quit_button.pressed.connect(_on_quit_pressed)
	GameState.score_changed.connect(_on_score_changed)
	start_button.grab_focus()


func _on_start_pressed() -> void:
	GameState.score += 1


func _on_quit_pressed() -> void:
	get_tree().quit()


func _on_score_changed(score: int) -> void:
	score_label.text = "Score: %d" % score
"#;

const PLATFORMER_SCENE: &str = r#"[gd_scene format=3]

[ext_resource type="Script" path="res://scripts/player.gd" id="1_player"]

[sub_resource type="RectangleShape2D" id="RectangleShape2D_player"]
size = Vector2(32, 64)

[sub_resource type="RectangleShape2D" id="RectangleShape2D_ground"]
size = Vector2(1152, 64)

[node name="Main" type="Node2D"]

[node name="Player" type="CharacterBody2D" parent="."]
position = Vector2(200, 400)
script = ExtResource("1_player")

[node name="CollisionShape2D" type="CollisionShape2D" parent="Player"]
shape = SubResource("RectangleShape2D_player")

[node name="Body" type="Polygon2D" parent="Player"]
color = Color(0.3, 0.6, 1, 1)
polygon = PackedVector2Array(-16, -32, 16, -32, 16, 32, -16, 32)

[node name="Camera2D" type="Camera2D" parent="Player"]

[node name="Ground" type="StaticBody2D" parent="."]
position = Vector2(576, 600)

[node name="CollisionShape2D" type="CollisionShape2D" parent="Ground"]
shape = SubResource("RectangleShape2D_ground")

[node name="Body" type="Polygon2D" parent="Ground"]
color = Color(0.4, 0.35, 0.3, 1)
polygon = PackedVector2Array(-576, -32, 576, -32, 576, 32, -576, 32)
"#;

const TOP_DOWN_SCENE: &str = r#"[gd_scene format=3]

[ext_resource type="Script" path="res://scripts/player.gd" id="1_player"]

[sub_resource type="CircleShape2D" id="CircleShape2D_player"]
radius = 24.0

[sub_resource type="RectangleShape2D" id="RectangleShape2D_wall"]
size = Vector2(64, 256)

[node name="Main" type="Node2D"]

[node name="Player" type="CharacterBody2D" parent="."]
position = Vector2(300, 324)
motion_mode = 1
script = ExtResource("1_player")

[node name="CollisionShape2D" type="CollisionShape2D" parent="Player"]
shape = SubResource("CircleShape2D_player")

[node name="Body" type="Polygon2D" parent="Player"]
color = Color(0.3, 0.6, 1, 1)
polygon = PackedVector2Array(-24, 0, -17, -17, 0, -24, 17, -17, 24, 0, 17, 17, 0, 24, -17, 17)

[node name="Camera2D" type="Camera2D" parent="Player"]

[node name="Wall" type="StaticBody2D" parent="."]
position = Vector2(700, 324)

[node name="CollisionShape2D" type="CollisionShape2D" parent="Wall"]
shape = SubResource("RectangleShape2D_wall")

[node name="Body" type="Polygon2D" parent="Wall"]
color = Color(0.4, 0.35, 0.3, 1)
polygon = PackedVector2Array(-32, -128, 32, -128, 32, 128, -32, 128)
"#;

const SCENE_3D: &str = r#"[gd_scene format=3]

[ext_resource type="Script" path="res://scripts/player.gd" id="1_player"]

[sub_resource type="CapsuleShape3D" id="CapsuleShape3D_player"]

[sub_resource type="CapsuleMesh" id="CapsuleMesh_player"]

[sub_resource type="BoxShape3D" id="BoxShape3D_ground"]
size = Vector3(40, 1, 40)

[sub_resource type="BoxMesh" id="BoxMesh_ground"]
size = Vector3(40, 1, 40)

[node name="Main" type="Node3D"]

[node name="Player" type="CharacterBody3D" parent="."]
transform = Transform3D(1, 0, 0, 0, 1, 0, 0, 0, 1, 0, 2, 0)
script = ExtResource("1_player")

[node name="CollisionShape3D" type="CollisionShape3D" parent="Player"]
shape = SubResource("CapsuleShape3D_player")

[node name="Body" type="MeshInstance3D" parent="Player"]
mesh = SubResource("CapsuleMesh_player")

[node name="Ground" type="StaticBody3D" parent="."]
transform = Transform3D(1, 0, 0, 0, 1, 0, 0, 0, 1, 0, -0.5, 0)

[node name="CollisionShape3D" type="CollisionShape3D" parent="Ground"]
shape = SubResource("BoxShape3D_ground")

[node name="Body" type="MeshInstance3D" parent="Ground"]
mesh = SubResource("BoxMesh_ground")

[node name="Camera3D" type="Camera3D" parent="."]
transform = Transform3D(1, 0, 0, 0, 0.866025, 0.5, 0, -0.5, 0.866025, 0, 6, 9)

[node name="Sun" type="DirectionalLight3D" parent="."]
transform = Transform3D(0.866025, -0.353553, 0.353553, 0, 0.707107, 0.707107, -0.5, -0.612372, 0.612372, 0, 8, 0)
shadow_enabled = true
"#;

const UI_SCENE: &str = r#"[gd_scene format=3]

[ext_resource type="Script" path="res://scripts/main_menu.gd" id="1_menu"]

[node name="Main" type="Control"]
layout_mode = 3
anchors_preset = 15
anchor_right = 1.0
anchor_bottom = 1.0
grow_horizontal = 2
grow_vertical = 2
script = ExtResource("1_menu")

[node name="Center" type="CenterContainer" parent="."]
layout_mode = 1
anchors_preset = 15
anchor_right = 1.0
anchor_bottom = 1.0
grow_horizontal = 2
grow_vertical = 2

[node name="Menu" type="VBoxContainer" parent="Center"]
layout_mode = 2

[node name="ScoreLabel" type="Label" parent="Center/Menu"]
unique_name_in_owner = true
layout_mode = 2
text = "Score: 0"

[node name="StartButton" type="Button" parent="Center/Menu"]
unique_name_in_owner = true
layout_mode = 2
text = "Start"

[node name="QuitButton" type="Button" parent="Center/Menu"]
unique_name_in_owner = true
layout_mode = 2
text = "Quit"
"#;
